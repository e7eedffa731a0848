//! Verdicts on robots' claims: in the library, a server and the command line.

mod commands;
mod costing;
mod forged;
mod logs;
mod remembering;
mod serving;
mod site;
