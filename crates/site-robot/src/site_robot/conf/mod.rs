//! robot.conf, the configuration of the site robot (Sun 7.1, chapter 42).

mod file;
mod key;
mod robot_conf;
mod values;

pub use file::ConfigFiles;
pub use file::RobotConfFile;
pub use key::{RobotKey, RobotKeyKind};
pub use robot_conf::{KEYS, OnCompletion, Password, RobotConf, RobotConfRow};
#[cfg(test)]
mod tests;
