//! WebSockets: every case ends the same way with and without the proxy.

mod closing;
mod echo;
mod framing;
mod switching;
mod text;
