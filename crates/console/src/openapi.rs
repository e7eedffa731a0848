//! Registers the operations of the JSON API and generates the `OpenAPI` document from them.
//!
//! Each route is registered together with its description.

use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::{
    Json, Router,
    extract::State,
    handler::Handler,
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter},
};
use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform,
};
use serde_json::{Map, Value, json};

use robot_detection_operations::MAX_LIMIT;

use super::{
    handlers::{AnyHandler, get},
    page::{Page, html},
    parameters::with_parameters,
    problem::ProblemDetails,
    state::AdminState,
};

/// An operation of the JSON API: a path, a method and a description.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    method: Method,
    path: &'static str,
    summary: &'static str,
    /// Names of the query parameters that the operation accepts; all other parameters are rejected.
    parameters: &'static [&'static str],
    /// Schema of the operation's request body, if any.
    body: Option<SchemaOf>,
    /// Schema of the operation's response, if any.
    answer: Option<SchemaOf>,
    /// Status of a successful response.
    status: StatusCode,
    /// Whether the operation returns 200 instead if it creates nothing.
    is_or_ok: bool,
}

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A function that returns the allowed words of a parameter; empty if the parameter is not an
/// enumeration.
type Words = fn(&str, &str) -> Vec<&'static str>;

/// The routes below `/api`, with their descriptions.
#[derive(Debug)]
pub(super) struct Api {
    router: Router<AdminState>,
    operations: Vec<Operation>,
    words: Words,
}

#[derive(Template)]
#[template(path = "admin/openapi.html")]
struct ReferencePage<'o> {
    page: Page,
    operations: &'o [Operation],
}

impl Operation {
    /// Creates an operation that responds with 200 or, for a deletion, without a body.
    pub(super) fn new(method: Method, path: &'static str, summary: &'static str) -> Self {
        let status = match method {
            Method::DELETE => StatusCode::NO_CONTENT,
            _ => StatusCode::OK,
        };
        Self {
            method,
            path,
            summary,
            parameters: &[],
            body: None,
            answer: None,
            status,
            is_or_ok: false,
        }
    }

    pub(super) fn with_parameters(mut self, parameters: &'static [&'static str]) -> Self {
        self.parameters = parameters;
        self
    }

    /// Sets the type of the request body.
    pub(super) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Sets the type of the response body.
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

    /// Returns the token scope that the operation requires.
    fn scope(&self) -> &'static str {
        if self.method == Method::GET {
            "read"
        } else {
            "write"
        }
    }

    fn describe(&self, answers: &mut SchemaGenerator, words: Words) -> Value {
        let of_path = path_parameters(self.path);
        let of_path = of_path.map(|name| parameter(name, "path", &[]));
        let of_query = self.parameters.iter();
        let of_query = of_query.map(|name| parameter(name, "query", &words(self.path, name)));
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

    /// Returns the names of the fields in the request body, and whether each field is required.
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

    /// Returns an operation ID such as `get_robots_robot_source_robot_id`.
    fn id(&self) -> String {
        let words = self.path.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.fold(self.lower_method(), |id, word| format!("{id}_{word}"))
    }
}

impl Api {
    pub(super) fn new(words: Words) -> Self {
        Self {
            router: Router::new(),
            operations: Vec::new(),
            words,
        }
    }

    /// Adds an operation and the handler for it.
    pub(super) fn add<H, T>(mut self, operation: Operation, handler: H) -> Self
    where
        H: Handler<T, AdminState>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(operation.method.clone());
        let route = MethodRouter::new().on(
            filter.unwrap_or(MethodFilter::GET),
            AnyHandler::new(handler),
        );
        let route = with_parameters(operation.parameters, route);
        self.router = self.router.route(operation.path, route);
        self.operations.push(operation);
        self
    }

    /// Returns the router with the `/openapi` page, and with the operations and the document about
    /// them below `/api`.
    pub(super) fn into_router(self) -> Router<AdminState> {
        let itself = Operation::new(Method::GET, "/openapi.json", "This document");
        let operations: Arc<[_]> = self
            .operations
            .iter()
            .cloned()
            .chain([itself.clone()])
            .collect();
        // Generated for the first request, so that startup does not wait for a hundred schemas.
        let (document, described) = (Arc::new(OnceLock::new()), Arc::clone(&operations));
        let words = self.words;
        let all = self.add(itself, async move || {
            Json(document.get_or_init(|| openapi(&described, words))).into_response()
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

fn openapi(operations: &[Operation], words: Words) -> Value {
    let written = SchemaSettings::draft2020_12().for_serialize();
    let written = written.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let written = written.with_transform(RecursiveTransform(list_words));
    let mut answers = written.into_generator();
    let problem = answers.subschema_for::<ProblemDetails>();
    let mut paths = Map::new();
    for operation in operations {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(
                operation.lower_method(),
                operation.describe(&mut answers, words),
            );
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "robot-detection",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "JSON versions of the admin pages. Tokens with the scope read may use GET; all other methods require the scope write.",
        },
        // Relative to the document's own URL, because the path of the console is not known here.
        "servers": [{ "url": "." }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": { "Error": {
                "description": "Error, with the reason (RFC 9457)",
                "content": { "application/problem+json": { "schema": problem } },
            } },
            "schemas": answers.take_definitions(true),
        },
    })
}

/// Converts words that are described separately to an `enum`, from which clients can be generated.
fn list_words(schema: &mut Schema) {
    let kinds = schema.get("oneOf").and_then(Value::as_array);
    let words = kinds.and_then(|kinds| {
        let words = kinds.iter().map(|kind| kind.get("const").cloned());
        words.collect::<Option<Vec<_>>>()
    });
    if let Some(words) = words {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), words.into());
    }
}

/// Returns the schema of a body without references; optional request fields are required in
/// responses.
fn whole(body: SchemaOf) -> Schema {
    let read = SchemaSettings::draft2020_12().for_deserialize();
    let read = read.with(|settings| settings.inline_subschemas = true);
    body(&mut read.into_generator())
}

fn parameter(name: &str, place: &str, words: &[&str]) -> Value {
    let schema = parameter_schema(name, words);
    let is_flag = schema.get("type").is_some_and(|kind| kind == "boolean");
    let mut parameter =
        json!({ "name": name, "in": place, "required": place == "path", "schema": schema });
    if let Some(members) = parameter.as_object_mut()
        && place == "query"
        && !is_flag
    {
        // An empty value is treated as missing, because forms also submit their empty fields.
        members.insert("allowEmptyValue".to_owned(), true.into());
    }
    parameter
}

/// Returns the schema of a parameter; by default, the schema of a string.
fn parameter_schema(name: &str, words: &[&str]) -> Value {
    match name {
        _ if !words.is_empty() => json!({ "type": "string", "enum": words }),
        "dry_run" | "https" | "duplicates" => json!({ "type": "boolean" }),
        "limit" => json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT }),
        "refresh_id" | "rule_id" => json!({ "type": "integer", "minimum": 1 }),
        "since" | "until" => json!({ "anyOf": [
            { "type": "string", "format": "date-time" },
            { "type": "string", "pattern": "^[1-9][0-9]{0,2}[mhdw]$", "description": "Age, such as 7d" },
        ] }),
        _ => json!({ "type": "string" }),
    }
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    let segments = path.split('/');
    segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}
