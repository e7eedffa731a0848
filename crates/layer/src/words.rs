//! A macro for enums with a word for each value (for settings, logs and JSON), and a parser for
//! word lists.

/// Declares an enum with a word for each value: `ALL`, `as_str`, `from_word` and `Display`.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $Words:ident { $($(#[$of:meta])* $variant:ident = $word:expr,)+ }
    ) => {
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        $(#[$attribute])*
        $visibility enum $Words { $($(#[$of])* $variant,)+ }

        impl $Words {
            /// All values of the enum, in order.
            $visibility const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word for the value.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Returns the value for the given word, if any.
            #[must_use]
            $visibility fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $Words {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Returns the words of a list with one word per line. Lines that begin with `#` are comments.
pub(crate) fn listed(text: &'static str) -> impl Iterator<Item = &'static str> {
    let is_word = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().filter(is_word)
}
