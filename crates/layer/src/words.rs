//! Enums whose values have words, for settings, logs and JSON; and lists of words.

/// Declares an enum with the word of each value: `ALL`, `as_str`, `from_word` and `Display`.
macro_rules! words {
    ($(#[$attribute:meta])* $Name:ident {
        $($(#[$value_attribute:meta])* $Value:ident = $word:expr,)+
    }) => {
        $(#[$attribute])*
        pub enum $Name {
            $($(#[$value_attribute])* $Value,)+
        }

        impl $Name {
            /// Every one of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$Value),+];

            /// Returns the word for it, for settings, logs and JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Value => $word,)+
                }
            }

            /// Returns the one that a word names.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

/// Returns the words of a list, one a line; lines that begin with `#` are comments.
pub(crate) fn listed(text: &'static str) -> impl Iterator<Item = &'static str> {
    let is_word = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().filter(is_word)
}
