//! DNS queries, and interpretation of their responses.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    lookup::Lookup,
    net::{DnsError, NetError, NoRecords, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, Record, RecordType},
    },
};
use tokio::sync::OnceCell;

use super::{
    DnsSettings,
    host::{DnsAnswer, MAX_NAMES, Names},
};

/// The minimum time for which a DNS response is valid, regardless of the TTLs of its records.
const MIN_TTL: Duration = Duration::from_mins(1);
/// The maximum time for which DNS records are valid.
const MAX_TTL: Duration = Duration::from_hours(24);
/// The maximum time for which a response that reports no records is valid.
const MAX_ABSENT_TTL: Duration = Duration::from_hours(1);
/// The time for which a failed DNS query is cached: 30 to 60 seconds, so that retries are spread
/// out.
const FAILURE_TTL_S: RangeInclusive<u64> = 30..=60;
/// The maximum timeout, to avoid overflows in time calculations.
pub(super) const MAX_TIMEOUT: Duration = Duration::from_hours(24);
/// The maximum number of consecutive aliases (CNAME) to follow.
const MAX_ALIASES: usize = 8;

/// A DNS resolver, created at the first query.
#[derive(Debug)]
pub(super) struct Resolver {
    settings: DnsSettings,
    made: OnceCell<TokioResolver>,
}

/// A DNS response, with the time for which the response is valid.
#[derive(Debug)]
pub(super) struct TimedAnswer<T> {
    pub(super) answer: DnsAnswer<T>,
    pub(super) ttl: Duration,
}

impl Resolver {
    pub(super) fn new(settings: DnsSettings) -> Self {
        Self {
            settings,
            made: OnceCell::new(),
        }
    }

    /// Queries the host names of an address.
    pub(super) async fn names(&self, address: IpAddr) -> TimedAnswer<Names> {
        let mut question = Name::from(address);
        question.set_fqdn(true);
        let records = self.records(&question, RecordType::PTR).await;
        records.map(|records| {
            let mut names = Names::default();
            for record in records {
                let RData::PTR(name) = record else { continue };
                if names.first.contains(&name.0) {
                    continue;
                }
                // The owner of an address may give it any number of names, and each costs a query.
                if names.first.len() == MAX_NAMES {
                    names.is_cut = true;
                    break;
                }
                names.first.push(name.0);
            }
            names
        })
    }

    /// Queries whether a name resolves to an address.
    pub(super) async fn resolves_back(&self, name: &Name, address: IpAddr) -> TimedAnswer<bool> {
        let mut question = name.clone();
        question.set_fqdn(true);
        let record_type = match address {
            IpAddr::V4(_) => RecordType::A,
            IpAddr::V6(_) => RecordType::AAAA,
        };
        let records = self.records(&question, record_type).await;
        records.map(|records| {
            let found = records.iter().filter_map(RData::ip_addr);
            found
                .map(|found| found.to_canonical())
                .any(|found| found == address)
        })
    }

    /// Queries the records of a name.
    pub(super) async fn records(
        &self,
        question: &Name,
        record_type: RecordType,
    ) -> TimedAnswer<Vec<RData>> {
        let Ok(resolver) = self.made.get_or_try_init(async || self.make()).await else {
            return failed(question, "no resolver is configured");
        };
        match resolver.lookup(question.clone(), record_type).await {
            Ok(found) => found_records(question, record_type, &found),
            Err(error) => found_none(question, &error),
        }
    }

    fn make(&self) -> Result<TokioResolver, NetError> {
        let mut builder = if self.settings.servers.is_empty() {
            TokioResolver::builder_tokio()?
        } else {
            let servers = self.settings.servers.iter().map(name_server).collect();
            let config = ResolverConfig::from_name_servers(servers);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        self.set(builder.options_mut());
        builder.build()
    }

    fn set(&self, options: &mut ResolverOpts) {
        options.timeout = self.settings.timeout.min(MAX_TIMEOUT);
        // The library counts retries.
        options.attempts = self.settings.attempts.saturating_sub(1);
        // Responses are cached here by address; the hosts file proves nothing.
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        // Needed to follow aliases from the query to the records.
        options.preserve_intermediates = true;
        options.max_active_requests = self.settings.concurrency.max(32);
    }
}

impl<T> TimedAnswer<T> {
    fn map<U>(self, to: impl FnOnce(T) -> U) -> TimedAnswer<U> {
        let answer = match self.answer {
            DnsAnswer::Records(records) => DnsAnswer::Records(to(records)),
            DnsAnswer::Nothing => DnsAnswer::Nothing,
            DnsAnswer::Failed(why) => DnsAnswer::Failed(why),
        };
        TimedAnswer {
            answer,
            ttl: self.ttl,
        }
    }
}

/// Returns a failed response, which is valid for a time that varies with the query.
pub(super) fn failed<T>(question: impl Hash, why: &'static str) -> TimedAnswer<T> {
    let mut hasher = DefaultHasher::new();
    question.hash(&mut hasher);
    let spread = FAILURE_TTL_S.end() - FAILURE_TTL_S.start() + 1;
    let seconds = FAILURE_TTL_S.start() + hasher.finish() % spread;
    TimedAnswer {
        answer: DnsAnswer::Failed(why),
        ttl: Duration::from_secs(seconds),
    }
}

fn name_server(server: &SocketAddr) -> NameServerConfig {
    // TCP is for responses that are truncated over UDP (RFC 7766 §5).
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
    let connections = connections.map(|mut connection| {
        connection.port = server.port();
        connection
    });
    NameServerConfig::new(server.ip(), true, connections.into())
}

/// Returns the records at the end of the chain of aliases that starts at the queried name.
fn found_records(
    question: &Name,
    record_type: RecordType,
    found: &Lookup,
) -> TimedAnswer<Vec<RData>> {
    let code = found.message().response_code;
    if !matches!(code, ResponseCode::NoError | ResponseCode::NXDomain) {
        return failed(question, code_word(code));
    }
    let (records, ttl) = at_end(question, record_type, found.answers());
    // Records for other names are ignored, since invalid responses from a resolver could otherwise
    // prove or contradict claims.
    if records.is_empty() {
        return failed(
            question,
            "the response did not contain the requested records",
        );
    }
    // A TTL of 0 must not cause a query for each request.
    TimedAnswer {
        answer: DnsAnswer::Records(records),
        ttl: Duration::from_secs(ttl.into()).clamp(MIN_TTL, MAX_TTL),
    }
}

fn at_end(question: &Name, record_type: RecordType, answers: &[Record]) -> (Vec<RData>, u32) {
    let mut name = question;
    let mut ttl = u32::MAX;
    // Records may be in any order, and aliases may form a loop: each step searches all records, and
    // the number of steps is limited.
    for _ in 0..MAX_ALIASES {
        let alias = answers.iter().find_map(|record| match &record.data {
            RData::CNAME(target) if record.name == *name => Some((&target.0, record.ttl)),
            _ => None,
        });
        let Some((target, target_ttl)) = alias else {
            break;
        };
        name = target;
        ttl = ttl.min(target_ttl);
    }
    let mut records = Vec::new();
    for record in answers {
        if record.name == *name && record.record_type() == record_type {
            ttl = ttl.min(record.ttl);
            records.push(record.data.clone());
        }
    }
    (records, ttl)
}

/// Interprets a response without records: either an authoritative "nothing", or a failure.
fn found_none(question: &Name, error: &NetError) -> TimedAnswer<Vec<RData>> {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) if says_nothing(none) => TimedAnswer {
            answer: DnsAnswer::Nothing,
            ttl: Duration::from_secs(none.negative_ttl.unwrap_or_default().into())
                .clamp(MIN_TTL, MAX_ABSENT_TTL),
        },
        _ => failed(question, failure_word(error)),
    }
}

/// Returns `true` if a response without records is authoritative.
///
/// The response "no such name" is always authoritative. An empty response is authoritative if it
/// contains the SOA record of the zone; otherwise it may be a referral, or the end of too long a
/// chain of aliases (RFC 2308 §2.2).
fn says_nothing(none: &NoRecords) -> bool {
    match none.response_code {
        ResponseCode::NXDomain => true,
        ResponseCode::NoError => none.soa.is_some(),
        _ => false,
    }
}

fn failure_word(error: &NetError) -> &'static str {
    match error {
        NetError::Timeout => "DNS did not respond in time",
        NetError::Dns(DnsError::ResponseCode(code)) => code_word(*code),
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NoError => "DNS returned an empty, non-authoritative response",
            code => code_word(code),
        },
        NetError::NoConnections | NetError::Io(_) | NetError::Busy => {
            "no DNS server could be reached"
        }
        NetError::Truncated => "the DNS response was truncated",
        _ => "the DNS response was invalid",
    }
}

fn code_word(code: ResponseCode) -> &'static str {
    match code {
        ResponseCode::ServFail => "DNS returned SERVFAIL",
        ResponseCode::Refused => "DNS returned REFUSED",
        ResponseCode::FormErr => "DNS returned FORMERR",
        ResponseCode::NotImp => "DNS returned NOTIMP",
        _ => "DNS returned an error",
    }
}

#[cfg(test)]
mod tests {
    use hickory_resolver::proto::rr::rdata::{A, CNAME};

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_utf8(text).unwrap()
    }

    fn alias(at: &str, ttl: u32, target: &str) -> Record {
        Record::from_rdata(name(at), ttl, RData::CNAME(CNAME(name(target))))
    }

    fn host(at: &str, ttl: u32, last: u8) -> Record {
        Record::from_rdata(name(at), ttl, RData::A(A::new(192, 0, 2, last)))
    }

    /// Returns the last octets of the addresses found for `a.example`, and their TTL.
    fn found(answers: &[Record]) -> (Vec<u8>, u32) {
        let (records, ttl) = at_end(&name("a.example."), RecordType::A, answers);
        let addresses = records.iter().filter_map(RData::ip_addr);
        let last = |address: IpAddr| match address {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(_) => 0,
        };
        (addresses.map(last).collect(), ttl)
    }

    #[test]
    fn only_records_of_the_queried_name_count() {
        let (a, b, c) = ("a.example.", "b.example.", "c.example.");
        for (answers, expected) in [
            (vec![host(a, 9, 1), host(a, 8, 2)], (vec![1, 2], 8)),
            (vec![host("A.Example.", 9, 1), host(b, 8, 2)], (vec![1], 9)),
            (vec![host(b, 9, 2)], (vec![], u32::MAX)),
            (
                vec![alias(a, 7, b), host(b, 9, 2), host(a, 8, 1)],
                (vec![2], 7),
            ),
            (
                vec![host(c, 9, 3), alias(b, 8, c), alias(a, 7, b)],
                (vec![3], 7),
            ),
            (vec![alias(c, 7, b), host(b, 9, 2)], (vec![], u32::MAX)),
        ] {
            assert_eq!(found(&answers), expected, "{answers:?}");
        }
        let ring = [alias(a, 7, b), alias(b, 7, a)];
        assert_eq!(found(&ring).0, [0; 0]);
    }

    #[test]
    fn failures_expire_at_different_times() {
        let seconds = |at: u8| {
            failed::<()>(IpAddr::from([192, 0, 2, at]), "so")
                .ttl
                .as_secs()
        };
        let mut times: Vec<_> = (0..=255).map(seconds).collect();
        assert!(
            times.iter().all(|time| (30..=60).contains(time)),
            "{times:?}"
        );
        times.sort_unstable();
        times.dedup();
        assert!(times.len() > 20, "{times:?}");
    }
}
