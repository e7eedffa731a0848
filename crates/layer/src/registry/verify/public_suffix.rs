//! Endings of host names that anybody can have.

/// Returns `true` for what anybody can have a name below, such as `com`, `co.uk` or `github.io`.
///
/// The name is in lower case, without a dot at its end; the list is that of
/// publicsuffix.org, as it came with the program.
pub fn is_public_suffix(name: &str) -> bool {
    let name = name.trim_end_matches('.').as_bytes();
    // To the list any last label that it does not know is a suffix; names within a company may end
    // in one.
    let suffix = psl::suffix(name).filter(psl::Suffix::is_known);
    suffix.is_some_and(|suffix| suffix.as_bytes().len() == name.len())
}
