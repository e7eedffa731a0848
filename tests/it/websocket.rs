//! Web sockets: every case ends the same way through the proxy as without it.

mod closing;
mod echo;
mod framing;
mod switching;
mod text;
