//! DNS server on loopback, by UDP and TCP, that says what a test tells it to.
//!
//! It answers as a resolver does: aliases are followed, and an answer that there is
//! nothing has the SOA record of the zone.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use hickory_server::{
    net::{runtime::Time, xfer::Protocol},
    proto::{
        op::{HeaderCounts, Metadata, Query, ResponseCode},
        rr::{
            Name, RData, Record, RecordType,
            rdata::{A, AAAA, CNAME, PTR, SOA},
        },
    },
    server::{Request, RequestHandler, ResponseHandler, ResponseInfo, Server},
    zone_handler::MessageResponseBuilder,
};
use tokio::{
    net::{TcpListener, UdpSocket},
    sync::watch,
};

/// Server of names; it stops when it is dropped.
pub(crate) struct DnsServer {
    address: SocketAddr,
    zone: Arc<Zone>,
    _server: Server<Handler>,
}

/// What is wrong with the answers about a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// An answer without records, with this code.
    Code(ResponseCode),
    /// No answer, ever.
    Silent,
    /// No error, no records, and nobody who says so.
    Empty,
    /// Records of another name, as if they were asked for.
    Foreign(IpAddr),
}

struct Handler(Arc<Zone>);

struct Zone {
    facts: Mutex<Facts>,
    asked: Mutex<Asked>,
    under_way: watch::Sender<UnderWay>,
    is_open: watch::Sender<bool>,
}

#[derive(Default)]
struct Facts {
    records: HashMap<Name, Vec<Record>>,
    faults: HashMap<Name, Fault>,
    /// Name of every address.
    wildcard: Option<Name>,
    ttl: u32,
    negative_ttl: u32,
}

/// Questions that came, each once: one that is put again has the same number.
#[derive(Default)]
struct Asked {
    questions: Vec<(Query, Protocol)>,
    seen: HashSet<(u16, Query, bool)>,
}

/// Questions that are not answered yet; one that comes again counts once.
#[derive(Default)]
struct UnderWay {
    questions: BTreeMap<Name, usize>,
    peak: usize,
}

/// Address by which the program finds that a resolver knows the names of addresses.
pub(crate) const WELL_KNOWN: &str = "1.1.1.1";

/// Returns the name under which the name of an address is asked for.
pub(crate) fn reverse(address: &str) -> Name {
    let mut name = Name::from(address.parse::<IpAddr>().unwrap());
    name.set_fqdn(true);
    name
}

/// Returns a name; unlike what the library parses, one with a slash in it (RFC 2317).
fn name(text: &str) -> Name {
    let labels = text.split('.').filter(|label| !label.is_empty());
    Name::from_labels(labels.map(str::as_bytes)).unwrap()
}

fn address_data(address: IpAddr) -> RData {
    match address {
        IpAddr::V4(address) => RData::A(A(address)),
        IpAddr::V6(address) => RData::AAAA(AAAA(address)),
    }
}

impl DnsServer {
    /// Starts a server that knows the name of one address, for which no question is counted.
    pub(crate) async fn start() -> Self {
        let (tcp, udp) = sockets().await;
        let zone = Arc::new(Zone {
            facts: Mutex::new(Facts {
                ttl: 300,
                negative_ttl: 300,
                ..Facts::default()
            }),
            asked: Mutex::default(),
            under_way: watch::Sender::default(),
            is_open: watch::Sender::new(true),
        });
        let address = udp.local_addr().unwrap();
        let mut server = Server::new(Handler(Arc::clone(&zone)));
        server.register_socket(udp);
        server.register_listener(tcp, Duration::from_mins(1), 64);
        let server = Self {
            address,
            zone,
            _server: server,
        };
        server.pointer(WELL_KNOWN, "one.one.one.one");
        server
    }

    /// Gives every address the same name.
    pub(crate) fn wildcard(&self, named: &str) {
        self.zone.facts.lock().unwrap().wildcard = Some(name(named));
    }

    /// Returns where it listens, by UDP and TCP.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the TTL in seconds of the records that are added from now on.
    pub(crate) fn ttl(&self, seconds: u32) -> &Self {
        self.zone.facts.lock().unwrap().ttl = seconds;
        self
    }

    /// Sets for how many seconds it is true that there is nothing.
    pub(crate) fn negative_ttl(&self, seconds: u32) -> &Self {
        self.zone.facts.lock().unwrap().negative_ttl = seconds;
        self
    }

    /// Gives an address a name, and the name the address.
    pub(crate) fn host(&self, address: &str, named: &str) -> &Self {
        self.pointer(address, named).forward(named, address)
    }

    /// Gives an address a name, one more if it has one.
    pub(crate) fn pointer(&self, address: &str, named: &str) -> &Self {
        self.raw_pointer(address, name(named))
    }

    /// Gives an address a name, whatever is in it.
    pub(crate) fn raw_pointer(&self, address: &str, named: Name) -> &Self {
        self.add(reverse(address), RData::PTR(PTR(named)))
    }

    /// Gives a name an address, one more if it has one.
    pub(crate) fn forward(&self, named: &str, address: &str) -> &Self {
        self.add(name(named), address_data(address.parse().unwrap()))
    }

    /// Makes a name another word for a name.
    pub(crate) fn alias(&self, alias: &Name, target: &str) -> &Self {
        self.add(alias.clone(), RData::CNAME(CNAME(name(target))))
    }

    /// Gives a name other than that of an address the name of a host.
    pub(crate) fn pointer_at(&self, at: &str, named: &str) -> &Self {
        self.add(name(at), RData::PTR(PTR(name(named))))
    }

    /// Makes the answers about a name wrong.
    pub(crate) fn fault(&self, at: &Name, fault: Fault) -> &Self {
        let mut facts = self.zone.facts.lock().unwrap();
        facts.faults.insert(at.clone(), fault);
        drop(facts);
        self
    }

    /// Forgets what is known and wrong about a name.
    pub(crate) fn forget(&self, at: &Name) -> &Self {
        let mut facts = self.zone.facts.lock().unwrap();
        facts.records.remove(at);
        facts.faults.remove(at);
        drop(facts);
        self
    }

    /// Keeps all answers back until [`DnsServer::release`].
    pub(crate) fn hold(&self) {
        self.zone.is_open.send_replace(false);
    }

    /// Gives the answers that were kept back.
    pub(crate) fn release(&self) {
        self.zone.is_open.send_replace(true);
    }

    /// Waits until so many names are asked for at once.
    pub(crate) async fn until_under_way(&self, count: usize) {
        let mut under_way = self.zone.under_way.subscribe();
        let enough = |now: &UnderWay| now.questions.len() >= count;
        under_way.wait_for(enough).await.unwrap();
    }

    /// Returns how many names were asked for at once, at most.
    pub(crate) fn peak(&self) -> usize {
        self.zone.under_way.borrow().peak
    }

    /// Returns how many questions came; one that is put again counts once.
    pub(crate) fn count(&self) -> usize {
        self.zone.asked.lock().unwrap().questions.len()
    }

    /// Returns the names and types that were asked for, each as `name. TYPE`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.zone.asked.lock().unwrap();
        let spelled = |query: &Query| format!("{} {}", query.name(), query.query_type());
        let questions = asked.questions.iter();
        questions.map(|(query, _)| spelled(query)).collect()
    }

    /// Returns `true` if a question came by TCP.
    pub(crate) fn was_asked_by_tcp(&self) -> bool {
        let asked = self.zone.asked.lock().unwrap();
        let mut questions = asked.questions.iter();
        questions.any(|(_, protocol)| *protocol == Protocol::Tcp)
    }

    fn add(&self, at: Name, data: RData) -> &Self {
        let mut facts = self.zone.facts.lock().unwrap();
        let record = Record::from_rdata(at.clone(), facts.ttl, data);
        facts.records.entry(at).or_default().push(record);
        drop(facts);
        self
    }
}

/// Returns two sockets with the same number, for TCP and UDP.
async fn sockets() -> (TcpListener, UdpSocket) {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Another process may have the number for UDP.
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
            return (tcp, udp);
        }
    }
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response_handle: R,
    ) -> ResponseInfo {
        let info = request.request_info().unwrap();
        let mut metadata = Metadata::response_from_request(info.metadata);
        metadata.recursion_available = true;
        let query = info.query.original().clone();
        self.0.note(metadata.id, &query, info.protocol);
        let _question = self.0.begin(&query).await;
        let Some(said) = self.0.answer(&query) else {
            return std::future::pending().await;
        };
        metadata.response_code = said.code;
        let response = MessageResponseBuilder::from_message_request(request).build(
            metadata,
            &said.answers,
            [],
            &said.soa,
            [],
        );
        let sent = response_handle.send_response(response).await;
        sent.unwrap_or_else(|_| {
            let counts = HeaderCounts::default();
            hickory_server::proto::op::Header { metadata, counts }.into()
        })
    }
}

struct Said {
    code: ResponseCode,
    answers: Vec<Record>,
    soa: Vec<Record>,
}

/// Question that is not answered yet.
struct Question<'a> {
    zone: &'a Zone,
    name: Name,
}

impl Zone {
    fn note(&self, number: u16, query: &Query, protocol: Protocol) {
        if query.name() == &reverse(WELL_KNOWN) {
            return;
        }
        let mut asked = self.asked.lock().unwrap();
        let by_tcp = protocol == Protocol::Tcp;
        if asked.seen.insert((number, query.clone(), by_tcp)) {
            asked.questions.push((query.clone(), protocol));
        }
    }

    /// Waits until answers are given.
    async fn begin(&self, query: &Query) -> Question<'_> {
        let name = query.name().to_lowercase();
        self.under_way.send_modify(|now| {
            *now.questions.entry(name.clone()).or_default() += 1;
            now.peak = now.peak.max(now.questions.len());
        });
        let question = Question { zone: self, name };
        let mut is_open = self.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
        question
    }

    fn answer(&self, query: &Query) -> Option<Said> {
        let facts = self.facts.lock().unwrap();
        let mut at = query.name().to_lowercase();
        let mut said = Said {
            code: ResponseCode::NoError,
            answers: Vec::new(),
            soa: Vec::new(),
        };
        match facts.faults.get(&at) {
            Some(Fault::Silent) => return None,
            Some(Fault::Code(code)) => {
                said.code = *code;
                return Some(said);
            }
            Some(Fault::Empty) => return Some(said),
            Some(Fault::Foreign(address)) => {
                let other = name("other.example");
                let data = address_data(*address);
                said.answers.push(Record::from_rdata(other, 300, data));
                return Some(said);
            }
            None => {}
        }
        if let (Some(named), RecordType::PTR) = (&facts.wildcard, query.query_type()) {
            let data = RData::PTR(PTR(named.clone()));
            said.answers.push(Record::from_rdata(at, 300, data));
            return Some(said);
        }
        loop {
            let records = facts.records.get(&at).map_or(&[][..], Vec::as_slice);
            let of = |wanted| move |record: &&Record| record.record_type() == wanted;
            let found = records.iter().filter(of(query.query_type()));
            let before = said.answers.len();
            said.answers.extend(found.cloned());
            if said.answers.len() > before {
                return Some(said);
            }
            let alias = records.iter().find(of(RecordType::CNAME));
            // A loop of aliases ends with what was found.
            let Some(alias) = alias.filter(|_| before < 20) else {
                if records.is_empty() {
                    said.code = ResponseCode::NXDomain;
                }
                said.soa.push(facts.soa());
                return Some(said);
            };
            said.answers.push(alias.clone());
            if let RData::CNAME(target) = &alias.data {
                at = target.0.to_lowercase();
            }
        }
    }
}

impl Facts {
    fn soa(&self) -> Record {
        let (server, mailbox) = (name("ns.example"), name("admin.example"));
        let soa = SOA::new(server, mailbox, 1, 3600, 600, 86_400, self.negative_ttl);
        Record::from_rdata(name("example"), 86_400, RData::SOA(soa))
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.zone.under_way.send_modify(|now| {
            if let Some(count) = now.questions.get_mut(&self.name) {
                *count -= 1;
                if *count == 0 {
                    now.questions.remove(&self.name);
                }
            }
        });
    }
}
