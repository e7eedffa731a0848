//! Bodies of the responses that the layer gives itself.

use std::{any::Any, fmt, sync::Arc};

/// Maker of response bodies from text, of whatever type the application's are.
#[derive(Clone, Default)]
pub(super) struct TextBody {
    make: Option<Arc<dyn Any + Send + Sync>>,
}

impl TextBody {
    pub(super) fn new<R: 'static>(make: fn(String) -> R) -> Self {
        Self {
            make: Some(Arc::new(make)),
        }
    }

    /// Makes a body; it is empty where nobody said how bodies of this type are made.
    pub(super) fn make<R: Default + 'static>(&self, text: String) -> R {
        let make = self.make.as_ref();
        let make = make.and_then(|make| make.downcast_ref::<fn(String) -> R>());
        make.map_or_else(R::default, |make| make(text))
    }
}

impl fmt::Debug for TextBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextBody")
            .field(&self.make.is_some())
            .finish()
    }
}
