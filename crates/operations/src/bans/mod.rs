//! Bans of clients whose requests are refused so often that a firewall should block them.
//!
//! This program does not block clients itself: `nftables`, nginx or fail2ban can apply the bans at
//! a lower cost than any response. An entry contains a network, a cause and two times, but no text
//! from a visitor. Each instance counts the refusals that it sends; a ban applies to all instances.

#[expect(clippy::module_inception, reason = "the file is named after its type")]
mod bans;
mod current;
mod keeper;
mod list;
mod network;
mod tallies;

pub use bans::{BanRule, Bans};
pub use current::{BanView, BanViews, list, remove};
pub use keeper::{BanExemptions, BanKeeper};
pub use list::{BanFormat, format_addition, format_list, format_removal};
pub use network::Network;
