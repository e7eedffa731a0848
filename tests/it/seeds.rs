//! The predecessors of this program, each reproduced: `cargo test --test it seeds`.
//!
//! `parity` has the ACS package of 1999 and Sun's robot, `registry` the files of 2010 and 2012,
//! `robots_txt` the dialects of 1994, of 1996, of *HTTP: The Definitive Guide*, of Geoportal and of
//! Yandex, `sun` and `site_robot_files` robot.conf and filter.conf.

mod parity;
mod registry;
mod robots_txt;
mod site_robot_files;
pub(crate) mod sun;
