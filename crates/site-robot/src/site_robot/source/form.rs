//! Parser for HTML forms, which returns the values that a browser would submit.

use html5gum::{Token, Tokenizer};

/// Maximum number of forms that are read per page.
const MAX_FORMS: usize = 50;

/// Maximum number of fields that are read per form.
const MAX_FIELDS: usize = 200;

/// Input types that are submitted only if the user selects them.
const CHOSEN: [&str; 7] = [
    "button", "checkbox", "file", "image", "radio", "reset", "submit",
];

/// An HTML form on a page.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Form {
    /// Value of `action` as written; empty for the page itself.
    pub(super) action: String,
    pub(super) fields: Vec<FormField>,
}

/// A field of an HTML form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) is_password: bool,
    /// Whether a browser submits the field without any user interaction.
    pub(super) is_sent: bool,
}

impl Form {
    /// Parses the forms on a page; fields outside any form become a separate form.
    pub(super) fn read_all(html: &str) -> Vec<Self> {
        let (mut forms, mut open) = (Vec::new(), Self::default());
        for Ok(token) in Tokenizer::new(html) {
            match token {
                Token::StartTag(tag) => {
                    let attribute = |name: &str| {
                        let value = tag.attributes.get(name.as_bytes());
                        value.map(|value| String::from_utf8_lossy(&value.value).into_owned())
                    };
                    match &**tag.name {
                        b"form" => {
                            forms.push(std::mem::take(&mut open));
                            open.action = attribute("action").unwrap_or_default();
                        }
                        b"input" | b"button" if open.fields.len() < MAX_FIELDS => {
                            let is_button = &**tag.name == b"button";
                            open.fields.extend(field(&attribute, is_button));
                        }
                        _ => {}
                    }
                }
                Token::EndTag(tag) if &**tag.name == b"form" => {
                    forms.push(std::mem::take(&mut open));
                }
                _ => {}
            }
            if forms.len() >= MAX_FORMS {
                break;
            }
        }
        forms.push(open);
        forms.retain(|form| !form.fields.is_empty());
        forms
    }

    /// Returns the field with the given name.
    pub(super) fn field(&self, name: &str) -> Option<&FormField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

fn field(attribute: &impl Fn(&str) -> Option<String>, is_button: bool) -> Option<FormField> {
    let name = attribute("name").filter(|name| !name.is_empty())?;
    let kind = attribute("type").unwrap_or_default().to_ascii_lowercase();
    let is_ticked = kind == "checkbox" && attribute("checked").is_some();
    // A checked checkbox has a default value (HTML §4.10.5.1.15).
    let absent = if is_ticked { "on" } else { "" };
    Some(FormField {
        value: attribute("value").unwrap_or_else(|| absent.to_owned()),
        is_password: kind == "password",
        is_sent: is_ticked || !is_button && !CHOSEN.contains(&kind.as_str()),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_parsed_with_the_values_a_browser_submits() {
        let html = "<form action=/search><input name=q></form>\
            <FORM method=post action='/in?a=1&amp;b=2'><input type=hidden name=csrf value='a&quot;b'>\
            <input name=user><input type=PASSWORD name=pass>\
            <input type=checkbox name=stay checked><input type=checkbox name=news>\
            <button name=go value=1>Go</button><input value=nameless></form><input name=loose>";
        let forms = Form::read_all(html);
        let actions: Vec<_> = forms.iter().map(|form| form.action.as_str()).collect();
        assert_eq!(actions, ["/search", "/in?a=1&b=2", ""]);
        let login = &forms[1];
        let sent = login.fields.iter().filter(|field| field.is_sent);
        let sent: Vec<_> = sent.map(|it| format!("{}={}", it.name, it.value)).collect();
        assert_eq!(sent, ["csrf=a\"b", "user=", "pass=", "stay=on"]);
        assert!(login.field("pass").unwrap().is_password);
    }

    #[test]
    fn number_of_forms_read_is_limited() {
        let html = "<form><input name=a></form>".repeat(10_000);
        assert!(Form::read_all(&html).len() <= MAX_FORMS + 1);
        let html = format!("<form>{}", "<input name=a>".repeat(10_000));
        assert_eq!(Form::read_all(&html)[0].fields.len(), MAX_FIELDS);
    }
}
