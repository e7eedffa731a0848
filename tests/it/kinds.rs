//! Kinds of visitors beyond a robot's own User-Agent: User-Agents shared by many people, and robots
//! that sign their requests.

mod shared;
mod signed;
