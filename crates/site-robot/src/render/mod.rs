//! Renders pages with scripts in a browser.
//!
//! The browser is Chromium, in a separate process without our environment or files. It uses a
//! temporary directory and accepts commands over two private pipes. The browser has no network
//! access: each request that a page makes is intercepted. The caller makes GET and HEAD requests
//! for scripts, style sheets and data on hosts in scope, with its own login and limits
//! ([`Resources`]); all other requests are refused. Requests that bypass the interception reach a
//! proxy that refuses everything.
//!
//! Chromium's own sandbox stays enabled, so rendering is not possible as root: see [`obstacle`].

mod browser;
mod connection;
mod error;
mod interception;
mod memory;
mod obstacle;
mod process;
mod renderer;
mod requests;
mod tab;

pub use error::RenderError;
pub use interception::{Answer, Resources};
pub use obstacle::obstacle;
pub use renderer::{RenderLimits, RenderedPage, Renderer};
