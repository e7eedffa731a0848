//! Who is refused so often that a firewall had better keep him out.
//!
//! Nobody is kept out here: what a ban says is for `nftables`, nginx or fail2ban, which cost
//! less than any answer. An entry holds a network, what refused it, and two times; nothing that a
//! visitor wrote. Refusals are counted by instance, bans are of the fleet.

#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod bans;
mod current;
mod keeper;
mod list;
mod network;
mod tallies;

pub use bans::{BanRule, Bans};
pub use current::{BanView, BanViews, list, remove};
pub use keeper::{BanKeeper, Spared};
pub use list::{BanFormat, added, removed, whole};
pub use network::Network;
