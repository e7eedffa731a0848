#!/usr/bin/env bash
# Formatting, lints of each feature and of all, documentation, and that the layer alone stays small.
set -euo pipefail
cd "$(dirname "$0")/.."
export CLIPPY_CONF_DIR="$PWD/.ci"

echo '== format'
cargo fmt --check

echo '== the layer alone'
crates=$(cargo tree --locked --no-default-features --features layer --edges normal --prefix none | sed 's/ (\*)$//' | sort -u | wc -l)
echo "$crates crates with robot-detection itself"
[ "$crates" -le 25 ] || { echo "error: the layer alone needs more than 24 other crates" >&2; exit 1; }
cargo clippy --locked --no-default-features --features layer -- -D warnings

echo '== no OpenSSL, no aws-lc'
if cargo tree --locked --all-features --edges normal --prefix none | grep -E '^(openssl(-sys)?|native-tls|aws-lc.*) v'; then
    echo "error: a dependency brings a second TLS library" >&2
    exit 1
fi

echo '== each feature alone'
for feature in access-log html formats fetch store refresh verify site-robot proxy acme admin; do
    cargo clippy --quiet --locked --no-default-features --features "$feature" -- -D warnings
done

echo '== lints'
cargo clippy --locked --all-targets -- -D warnings
cargo clippy --locked --all-targets --features otel,acme -- -D warnings

echo '== fuzz targets'
cp Cargo.lock fuzz/Cargo.lock
cargo check --manifest-path fuzz/Cargo.toml --target-dir target

echo '== documentation'
RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps
