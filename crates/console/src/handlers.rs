//! Handlers wrapped in one type: axum's services are then compiled once instead of once per route,
//! which took half of the time to compile this crate.

use std::{fmt, pin::Pin, sync::Arc};

use axum::{
    extract::Request,
    handler::Handler,
    response::Response,
    routing::{self, MethodRouter},
};

use super::state::AdminState;

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of any type.
#[derive(Clone)]
pub(super) struct AnyHandler(Arc<dyn Fn(Request, AdminState) -> Answer + Send + Sync>);

impl AnyHandler {
    pub(super) fn new<H: Handler<T, AdminState>, T: 'static>(handler: H) -> Self {
        let call =
            move |request, state| -> Answer { Box::pin(handler.clone().call(request, state)) };
        Self(Arc::new(call))
    }
}

impl Handler<Self, AdminState> for AnyHandler {
    type Future = Answer;

    fn call(self, request: Request, state: AdminState) -> Answer {
        (self.0)(request, state)
    }
}

impl fmt::Debug for AnyHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyHandler")
    }
}

pub(super) fn get<H: Handler<T, AdminState>, T: 'static>(handler: H) -> MethodRouter<AdminState> {
    routing::get(AnyHandler::new(handler))
}

pub(super) fn post<H: Handler<T, AdminState>, T: 'static>(handler: H) -> MethodRouter<AdminState> {
    routing::post(AnyHandler::new(handler))
}

/// Creates a route that shows a form and accepts it.
pub(super) fn form<G: Handler<T, AdminState>, T: 'static, P: Handler<U, AdminState>, U: 'static>(
    show: G,
    accept: P,
) -> MethodRouter<AdminState> {
    get(show).post(AnyHandler::new(accept))
}
