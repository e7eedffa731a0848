//! Bodies of the responses that the layer gives itself.

/// Makes the bodies of the layer's own responses from their texts.
///
/// [`FromText`] does for every body that is made from a `String`, such as those of axum and
/// http-body-util. For others a function `Fn(String) -> Body` does: see
/// [`RobotDetectionLayer::refusal_body`](super::RobotDetectionLayer::refusal_body).
#[diagnostic::on_unimplemented(
    message = "the layer cannot make the body `{R}` from the text of a refusal",
    label = "no function makes a `{R}` of a `String`",
    note = "name a function with `RobotDetectionLayer::refusal_body`, or use a body that is `From<String>` and `Default`"
)]
pub trait RefusalBody<R> {
    /// Returns a body that contains a text.
    fn body(&self, text: String) -> R;

    /// Returns a body without any text.
    fn empty(&self) -> R {
        self.body(String::new())
    }
}

/// Makes bodies that are [`From<String>`].
#[derive(Clone, Copy, Debug, Default)]
pub struct FromText;

impl<R: From<String> + Default> RefusalBody<R> for FromText {
    fn body(&self, text: String) -> R {
        R::from(text)
    }

    fn empty(&self) -> R {
        R::default()
    }
}

impl<R, F: Fn(String) -> R> RefusalBody<R> for F {
    fn body(&self, text: String) -> R {
        self(text)
    }
}
