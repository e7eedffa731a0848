//! What is run in a page to learn when it is made, and what it is then.
//!
//! It runs in a world of its own: scripts of the page share its document and nothing else.

/// Returns a script that ends when nothing has changed for a while and the page has words, or
/// none came for longer.
pub(super) fn until_quiet(quiet_ms: u64, empty_ms: u64) -> String {
    format!(
        "new Promise(done => {{
            const limit = Date.now() + {empty_ms};
            let timer;
            const wait = () => {{ clearTimeout(timer); timer = setTimeout(look, {quiet_ms}); }};
            const look = () => {{
                const words = document.body ? document.body.innerText.trim() : '';
                if (words || Date.now() > limit) {{ done(true); }} else {{ wait(); }}
            }};
            new MutationObserver(wait)
                .observe(document, {{ subtree: true, childList: true, characterData: true }});
            wait();
        }})"
    )
}

/// Returns a script that gives the page as HTML, of so many characters at most.
///
/// What stands there for browsers without scripts is nothing that people read.
pub(super) fn html(max: u64) -> String {
    format!(
        "(() => {{
            for (const it of document.querySelectorAll('noscript')) {{ it.remove(); }}
            const root = document.documentElement;
            const html = root ? root.outerHTML : '';
            return {{ html: html.slice(0, {max}), whole: html.length <= {max} }};
        }})()"
    )
}
