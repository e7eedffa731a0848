//! Pages as scripts make them: a browser runs them, and gives what it made.
//!
//! The browser is Chromium, in a process of its own with neither our environment nor our files:
//! its directory is made for it and deleted behind it, and it takes commands over two pipes that
//! nobody else has. It reaches no network. Whatever a page asks for stops in front of us, and what
//! is a GET or HEAD of a script, a style sheet or data on a host of the run is asked for by who
//! uses this, with that one's login, limits and manners ([`Resources`]); all else is refused. The
//! proxy that the browser is given lets nothing pass, for what does not stop in front of us.
//!
//! Chromium's own sandbox stays on, so that nobody renders as root: see [`obstacle`].

mod browser;
mod connection;
mod error;
mod filling;
mod memory;
mod obstacle;
mod process;
mod renderer;
mod requests;
mod tab;

pub use error::RenderError;
pub use filling::{Answer, Resources};
pub use obstacle::obstacle;
pub use renderer::{RenderLimits, RenderedPage, Renderer};
