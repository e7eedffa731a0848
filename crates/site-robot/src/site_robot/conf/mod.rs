//! robot.conf: how the site robot behaves (Sun 7.1, chapter 42).

mod file;
mod files;
mod key;
mod password;
mod robot_conf;
mod row;
mod values;

pub use file::RobotConfFile;
pub use files::ConfigFiles;
pub use key::{KEYS, RobotKey, RobotKeyKind};
pub use password::Password;
pub use robot_conf::{OnCompletion, RobotConf};
pub use row::RobotConfRow;

#[cfg(test)]
mod tests;
