<?php
// A site with a members' area. nginx asks robot-detection before a request gets here, deletes what
// visitors write into these two headers, and tells by them which robot asks, and what was proven of it.
$robot = $_SERVER['HTTP_X_ROBOT_DETECTION'] ?? '';
$verdict = $_SERVER['HTTP_X_ROBOT_DETECTION_VERDICT'] ?? '';
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);

function page(string $title, string $body, int $status = 200): void
{
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    echo "<!doctype html><html lang=\"en\"><title>$title</title><h1>$title</h1>$body</html>\n";
}

// Robots get no session: it would be a new one with each request.
if ($robot === '') {
    session_start();
}

if ($path === '/login' && $_SERVER['REQUEST_METHOD'] === 'POST') {
    $password = getenv('MEMBERS_PASSWORD');
    if ($password && $robot === '' && hash_equals($password, (string) ($_POST['password'] ?? ''))) {
        session_regenerate_id(true);
        $_SESSION['is_member'] = true;
        header('Location: /members-only-stuff/', true, 303);
        return;
    }
    page('Wrong password', '<p><a href="/members-only-stuff/">Again</a></p>', 403);
} elseif (str_starts_with($path, '/members-only-stuff/')) {
    // Robots that are redirected do not come here.
    if (!empty($_SESSION['is_member'])) {
        page('Members', '<p>The minutes of the last meeting.</p>');
    } else {
        page('Log in', '<form method="post" action="/login"><input type="password" name="password" aria-label="Password"><button>Log in</button></form>');
    }
} elseif ($path === '/') {
    $who = $robot === '' ? 'visitor' : htmlspecialchars("$robot ($verdict)");
    page('Harbour Library', "<p>Welcome, $who.</p><a href=\"/members-only-stuff/\">Members</a>");
} else {
    page('Not here', '', 404);
}
