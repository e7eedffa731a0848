//! Command lines parsed as a shell does, as far as the documents need.

/// Returns the words of each command in a script. Supports comments, quotes, continuation by `\`,
/// `|`, `&&` and redirections.
pub(super) fn commands(script: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    script.lines().flat_map(commands_of_line).collect()
}

fn commands_of_line(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut words = words(line).into_iter();
    while let Some((word, is_quoted)) = words.next() {
        match word.as_str() {
            "|" | "&&" if !is_quoted => commands.push(Vec::new()),
            "<" | ">" if !is_quoted => drop(words.next()),
            _ => commands.last_mut().expect("a command").push(word),
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// Returns each word, and whether a part of it was quoted.
fn words(line: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut is_word, mut is_quoted) = (false, false);
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => word.push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                (is_word, is_quoted) = (true, true);
            }
            (None, '#') if !is_word => break,
            (None, ' ') => {
                if is_word {
                    words.push((std::mem::take(&mut word), is_quoted));
                }
                (is_word, is_quoted) = (false, false);
            }
            (None, _) => {
                word.push(character);
                is_word = true;
            }
        }
    }
    assert!(quote.is_none(), "unclosed quote: {line}");
    if is_word {
        words.push((word, is_quoted));
    }
    words
}

#[test]
fn commands_are_parsed_as_a_shell_does() {
    let script = "a --b 'c d' \\\n  e   # f\n# g\ntail x | h < i && j \"#k\" > l\n";
    let right = [
        vec!["a", "--b", "c d", "e"],
        vec!["tail", "x"],
        vec!["h"],
        vec!["j", "#k"],
    ];
    assert_eq!(commands(script), right);
}
