use robot_detection_traffic::traffic::{Parameters, client_network};
fn main() {
    let n: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let with: bool = std::env::args().nth(2).unwrap() == "1";
    let mut p = Parameters::default();
    let queries: Vec<String> = (0..64).map(|i| format!("color=c{i}&sort=price&page={i}&tags=a{}", i * 7)).collect();
    for i in 0..n {
        let q = &queries[(i % 64) as usize];
        let page = "/shop/roses";
        if with {
            let net = client_network(std::net::IpAddr::V4((i << 8).into()));
            p.add("gptbot", page, std::hint::black_box(q.as_bytes()), Some(net));
        } else {
            std::hint::black_box((q, page));
        }
    }
    println!("{}", p.sorted().len());
}
