//! The addresses of the JSON with their descriptions, and the `OpenAPI` document made of them.
//!
//! A route is added together with what it says of itself: none can be without.

use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::{
    Json, Router,
    extract::State,
    handler::Handler,
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, get},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    page::{Page, html},
    parameters::with_parameters,
    problem::ProblemDetails,
    state::AdminState,
};

/// Operation of the JSON: an address, a method, and what they do.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    method: Method,
    path: &'static str,
    summary: &'static str,
    /// Names of the query's parameters; every other one is refused.
    parameters: &'static [&'static str],
    /// Schema of the request body, if any.
    body: Option<SchemaOf>,
    /// Schema of the response, if any.
    answer: Option<SchemaOf>,
    /// Status of a response that is no error.
    status: StatusCode,
    /// Whether a request that creates nothing is answered with 200 instead.
    is_or_ok: bool,
}

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Routes below `/api`, and what they are.
#[derive(Debug, Default)]
pub(super) struct Api {
    router: Router<AdminState>,
    operations: Vec<Operation>,
}

#[derive(Template)]
#[template(path = "admin/openapi.html")]
struct ReferencePage<'o> {
    page: Page,
    operations: &'o [Operation],
}

impl Operation {
    pub(super) fn get(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::GET, path, summary)
    }

    pub(super) fn post(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::POST, path, summary)
    }

    pub(super) fn put(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::PUT, path, summary)
    }

    /// Creates one that answers without a body.
    pub(super) fn delete(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::DELETE, path, summary).status(StatusCode::NO_CONTENT)
    }

    fn new(method: Method, path: &'static str, summary: &'static str) -> Self {
        Self {
            method,
            path,
            summary,
            parameters: &[],
            body: None,
            answer: None,
            status: StatusCode::OK,
            is_or_ok: false,
        }
    }

    pub(super) fn takes(mut self, parameters: &'static [&'static str]) -> Self {
        self.parameters = parameters;
        self
    }

    /// Says what the body is.
    pub(super) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Says what the answer is.
    pub(super) fn answer<T: JsonSchema>(mut self) -> Self {
        self.answer = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    pub(super) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn or_ok(mut self) -> Self {
        self.is_or_ok = true;
        self
    }

    /// Returns the scope that a token needs.
    fn scope(&self) -> &'static str {
        if self.method == Method::GET {
            "read"
        } else {
            "write"
        }
    }

    fn describe(&self, answers: &mut SchemaGenerator) -> Value {
        let of_path = path_parameters(self.path).map(|name| parameter(name, "path"));
        let of_query = self.parameters.iter().map(|name| parameter(name, "query"));
        let mut described = json!({
            "operationId": self.id(),
            "summary": self.summary,
            "x-scope": self.scope(),
            "parameters": of_path.chain(of_query).collect::<Vec<_>>(),
            "responses": self.responses(answers),
        });
        if let Some(body) = self.body
            && let Some(members) = described.as_object_mut()
        {
            let schema = whole(body);
            let content = json!({ "application/json": { "schema": schema } });
            let body = json!({ "required": true, "content": content });
            members.insert("requestBody".to_owned(), body);
        }
        described
    }

    /// Returns the names of the body's fields, and whether each is required.
    fn fields(&self) -> Vec<(String, bool)> {
        let schema = self.body.map(whole).unwrap_or_default();
        let required = schema.get("required").and_then(Value::as_array);
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(Map::keys);
        names
            .map(|name| {
                let is_required = required.is_some_and(|names| names.iter().any(|it| it == name));
                (name.clone(), is_required)
            })
            .collect()
    }

    fn responses(&self, answers: &mut SchemaGenerator) -> Value {
        let mut done = json!({ "description": "Done" });
        if let Some(answer) = self.answer
            && let Some(members) = done.as_object_mut()
        {
            let content = json!({ "application/json": { "schema": answer(answers) } });
            members.insert("content".to_owned(), content);
        }
        let mut responses = Map::new();
        if self.is_or_ok {
            responses.insert(StatusCode::OK.as_str().to_owned(), done.clone());
        }
        responses.insert(self.status.as_str().to_owned(), done);
        responses.insert(
            "default".to_owned(),
            json!({ "$ref": "#/components/responses/Error" }),
        );
        Value::Object(responses)
    }

    fn lower_method(&self) -> String {
        self.method.as_str().to_lowercase()
    }

    /// Returns a name such as `get_robots_robot_source_robot_id`.
    fn id(&self) -> String {
        let words = self.path.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.fold(self.lower_method(), |id, word| format!("{id}_{word}"))
    }
}

impl Api {
    /// Adds an operation and what carries it out.
    pub(super) fn add<H, T>(mut self, operation: Operation, handler: H) -> Self
    where
        H: Handler<T, AdminState>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(operation.method.clone());
        let route = MethodRouter::new().on(filter.unwrap_or(MethodFilter::GET), handler);
        let route = with_parameters(operation.parameters, route);
        self.router = self.router.route(operation.path, route);
        self.operations.push(operation);
        self
    }

    /// Returns the router with the page `/openapi`, and all operations and their document below `/api`.
    pub(super) fn into_router(self) -> Router<AdminState> {
        let itself = Operation::get("/openapi.json", "This document");
        let operations: Arc<[_]> = self
            .operations
            .iter()
            .cloned()
            .chain([itself.clone()])
            .collect();
        // Made once, by the first request for it: a start need not wait for a hundred schemas.
        let (document, described) = (Arc::new(OnceLock::new()), Arc::clone(&operations));
        let all = self.add(itself, async move || {
            Json(document.get_or_init(|| openapi(&described))).into_response()
        });
        let page = get(
            async move |State(_): State<AdminState>, page: Page| -> Response {
                let operations = &operations;
                html(&ReferencePage { page, operations })
            },
        );
        Router::new()
            .nest("/api/v1", all.router)
            .route("/openapi", page)
    }
}

fn openapi(operations: &[Operation]) -> Value {
    let written = SchemaSettings::draft2020_12().for_serialize();
    let written = written.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut answers = written.into_generator();
    let problem = answers.subschema_for::<ProblemDetails>();
    let mut paths = Map::new();
    for operation in operations {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(operation.lower_method(), operation.describe(&mut answers));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "robot-detection",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the admin pages show and do. A token with the scope read may GET; the others need write.",
        },
        // Relative to the document, as nobody here knows where the pages are.
        "servers": [{ "url": "." }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Error": {
                "description": "Not done, and why (RFC 9457)",
                "content": { "application/problem+json": { "schema": problem } },
            } },
            "schemas": answers.take_definitions(true),
        },
    })
}

/// Returns the schema of a body without references: optional request fields are required in responses.
fn whole(body: SchemaOf) -> Schema {
    let read = SchemaSettings::draft2020_12().for_deserialize();
    let read = read.with(|settings| settings.inline_subschemas = true);
    body(&mut read.into_generator())
}

fn parameter(name: &str, place: &str) -> Value {
    json!({
        "name": name,
        "in": place,
        "required": place == "path",
        "schema": parameter_schema(name),
    })
}

/// Returns the type of a parameter; whatever has no other is a text.
fn parameter_schema(name: &str) -> Value {
    match name {
        "dry_run" | "https" | "duplicates" => json!({ "type": "boolean" }),
        "limit" | "page" | "refresh_id" | "id" => json!({ "type": "integer", "minimum": 1 }),
        "dir" => json!({ "enum": ["asc", "desc"] }),
        "since" | "until" => {
            json!({ "type": "string", "description": "RFC 3339, or such as 24h, or all" })
        }
        _ => json!({ "type": "string" }),
    }
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    let segments = path.split('/');
    segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}
