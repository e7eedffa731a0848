//! Every setting: names, kinds, defaults, help, a file for each table or two.

mod heaven;
mod operation;
mod robots;
mod robots_txt;
mod server;
mod site_robot;
mod verify;

use super::key::{Key, Kind, key};

/// Every setting, in the order of the documentation.
pub const KEYS: &[Key] = &joined::<{ count(TABLES) }>(TABLES);

const TABLES: &[&[Key]] = &[
    robots::ROBOTS,
    server::SERVER,
    heaven::HEAVEN,
    robots_txt::ROBOTS_TXT,
    verify::VERIFY,
    site_robot::SITE_ROBOT,
    operation::OPERATION,
];

const fn count(mut tables: &[&[Key]]) -> usize {
    let mut keys = 0;
    while let [table, rest @ ..] = tables {
        keys += table.len();
        tables = rest;
    }
    keys
}

/// `N` is how many settings there are.
const fn joined<const N: usize>(mut tables: &[&[Key]]) -> [Key; N] {
    let mut keys = [key("", Kind::Text, "", ""); N];
    let mut free: &mut [Key] = &mut keys;
    while let [table, rest @ ..] = tables {
        let (place, behind) = free.split_at_mut(table.len());
        place.copy_from_slice(table);
        (free, tables) = (behind, rest);
    }
    keys
}
