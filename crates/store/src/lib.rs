//! What `robot-detection` keeps, and what it fetches to keep it fresh.
//!
//! The database ([`store`]) holds robots, descriptions, sessions and what came of refreshes;
//! [`fetch`] is the one HTTP client, [`refresh`] brings the sources of the registry, and
//! [`verify`] proves who a robot is by what its operator publishes.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// Declares an enumeration, with the word that each value goes by.
///
/// # Example
///
/// ```
/// robot_detection_store::words! {
///     /// Size of a thing.
///     pub enum Size {
///         /// Hardly there.
///         Small = "small",
///         /// Hardly to be overlooked.
///         Large = "large",
///     }
/// }
/// assert_eq!(Size::from_word("small"), Some(Size::Small));
/// assert_eq!(Size::Large.to_string(), "large");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $Words:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        $(#[$attribute])*
        $visibility enum $Words { $($(#[$of])* $variant,)+ }

        impl $Words {
            /// Every one of them, in order.
            $visibility const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word for it.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Returns what a word names.
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

pub mod description;
pub mod fetch;
pub mod instances;
pub mod origins;
pub mod pace;
pub mod refresh;
pub mod robots_file;
pub mod store;
pub mod verify;
pub mod way_out;
