//! DNS server on loopback, over UDP and TCP, with responses defined by a test.
//!
//! The server behaves as a resolver: it follows aliases, and negative responses contain the SOA
//! record of the zone.

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

/// DNS server; stops when dropped.
pub(crate) struct DnsServer {
    address: SocketAddr,
    zone: Arc<Zone>,
    _server: Server<Handler>,
}

/// Fault in the responses about a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// A response without records, with this code.
    Code(ResponseCode),
    /// No response, ever.
    Silent,
    /// No error, no records, and no SOA record.
    Empty,
    /// A record of another name, presented as the requested one.
    Foreign(IpAddr),
}

struct Handler(Arc<Zone>);

struct Zone {
    facts: Mutex<ZoneData>,
    asked: Mutex<QueryLog>,
    under_way: watch::Sender<PendingQueries>,
    is_open: watch::Sender<bool>,
}

#[derive(Default)]
struct ZoneData {
    records: HashMap<Name, Vec<Record>>,
    faults: HashMap<Name, Fault>,
    /// Name of every address.
    wildcard: Option<Name>,
    ttl: u32,
    negative_ttl: u32,
}

/// Received queries, each once: a repeated query keeps its number.
#[derive(Default)]
struct QueryLog {
    questions: Vec<(Query, Protocol)>,
    seen: HashSet<(u16, Query, bool)>,
}

/// Unanswered queries; a repeated query counts once.
#[derive(Default)]
struct PendingQueries {
    questions: BTreeMap<Name, usize>,
    peak: usize,
}

/// Address by which the program checks that a resolver knows names of addresses.
pub(crate) const WELL_KNOWN: &str = "1.1.1.1";

/// Returns the reverse name of an address.
pub(crate) fn reverse(address: &str) -> Name {
    let mut name = Name::from(address.parse::<IpAddr>().unwrap());
    name.set_fqdn(true);
    name
}

/// Returns a name; unlike the library's parser, accepts a slash in the name (RFC 2317).
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
    /// Starts a server that knows the name of one address; queries for the address are not counted.
    pub(crate) async fn start() -> Self {
        let (tcp, udp) = sockets().await;
        let zone = Arc::new(Zone {
            facts: Mutex::new(ZoneData {
                ttl: 300,
                negative_ttl: 300,
                ..ZoneData::default()
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

    /// Returns the listening address, for UDP and TCP.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the TTL in seconds of the records added later.
    pub(crate) fn ttl(&self, seconds: u32) -> &Self {
        self.zone.facts.lock().unwrap().ttl = seconds;
        self
    }

    /// Sets the TTL in seconds of negative responses.
    pub(crate) fn negative_ttl(&self, seconds: u32) -> &Self {
        self.zone.facts.lock().unwrap().negative_ttl = seconds;
        self
    }

    /// Gives an address a name, and the name the address.
    pub(crate) fn host(&self, address: &str, named: &str) -> &Self {
        self.pointer(address, named).forward(named, address)
    }

    /// Gives an address one more name.
    pub(crate) fn pointer(&self, address: &str, named: &str) -> &Self {
        self.raw_pointer(address, name(named))
    }

    /// Gives an address a name with arbitrary bytes.
    pub(crate) fn raw_pointer(&self, address: &str, named: Name) -> &Self {
        self.add(reverse(address), RData::PTR(PTR(named)))
    }

    /// Gives a name one more address.
    pub(crate) fn forward(&self, named: &str, address: &str) -> &Self {
        self.add(name(named), address_data(address.parse().unwrap()))
    }

    /// Makes a name an alias of another name.
    pub(crate) fn alias(&self, alias: &Name, target: &str) -> &Self {
        self.add(alias.clone(), RData::CNAME(CNAME(name(target))))
    }

    /// Gives a name outside of the reverse zones a PTR record.
    pub(crate) fn pointer_at(&self, at: &str, named: &str) -> &Self {
        self.add(name(at), RData::PTR(PTR(name(named))))
    }

    /// Makes the responses about a name faulty.
    pub(crate) fn fault(&self, at: &Name, fault: Fault) -> &Self {
        let mut facts = self.zone.facts.lock().unwrap();
        facts.faults.insert(at.clone(), fault);
        drop(facts);
        self
    }

    /// Removes the records and faults of a name.
    pub(crate) fn forget(&self, at: &Name) -> &Self {
        let mut facts = self.zone.facts.lock().unwrap();
        facts.records.remove(at);
        facts.faults.remove(at);
        drop(facts);
        self
    }

    /// Delays all responses until [`DnsServer::release`].
    pub(crate) fn hold(&self) {
        self.zone.is_open.send_replace(false);
    }

    /// Sends the delayed responses.
    pub(crate) fn release(&self) {
        self.zone.is_open.send_replace(true);
    }

    /// Waits for a number of concurrent queries.
    pub(crate) async fn wait_for_pending(&self, count: usize) {
        let mut under_way = self.zone.under_way.subscribe();
        let enough = |now: &PendingQueries| now.questions.len() >= count;
        under_way.wait_for(enough).await.unwrap();
    }

    /// Returns the highest number of concurrent queries.
    pub(crate) fn peak(&self) -> usize {
        self.zone.under_way.borrow().peak
    }

    /// Returns the number of queries; a repeated query counts once.
    pub(crate) fn count(&self) -> usize {
        self.zone.asked.lock().unwrap().questions.len()
    }

    /// Returns the queried names and types, each as `name. TYPE`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.zone.asked.lock().unwrap();
        let spelled = |query: &Query| format!("{} {}", query.name(), query.query_type());
        let questions = asked.questions.iter();
        questions.map(|(query, _)| spelled(query)).collect()
    }

    /// Returns `true` if a query came by TCP.
    pub(crate) fn received_tcp_query(&self) -> bool {
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

/// Returns a TCP and a UDP socket with the same port.
async fn sockets() -> (TcpListener, UdpSocket) {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // The UDP port may be in use.
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

struct Response {
    code: ResponseCode,
    answers: Vec<Record>,
    soa: Vec<Record>,
}

/// Unanswered query.
struct PendingQuery<'a> {
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

    /// Registers a query, and waits until responses are released.
    async fn begin(&self, query: &Query) -> PendingQuery<'_> {
        let name = query.name().to_lowercase();
        self.under_way.send_modify(|now| {
            *now.questions.entry(name.clone()).or_default() += 1;
            now.peak = now.peak.max(now.questions.len());
        });
        let question = PendingQuery { zone: self, name };
        let mut is_open = self.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
        question
    }

    fn answer(&self, query: &Query) -> Option<Response> {
        let facts = self.facts.lock().unwrap();
        let mut at = query.name().to_lowercase();
        let mut said = Response {
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
            // A loop of aliases ends with the records found so far.
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

impl ZoneData {
    fn soa(&self) -> Record {
        let (server, mailbox) = (name("ns.example"), name("admin.example"));
        let soa = SOA::new(server, mailbox, 1, 3600, 600, 86_400, self.negative_ttl);
        Record::from_rdata(name("example"), 86_400, RData::SOA(soa))
    }
}

impl Drop for PendingQuery<'_> {
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
