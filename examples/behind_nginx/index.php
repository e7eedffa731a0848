<?php
// A site with a members' area. nginx queries robot-detection before it forwards a request, and sets
// these two headers to the robot and the verdict; it removes headers of that name sent by visitors.
$robot = $_SERVER['HTTP_X_ROBOT_DETECTION'] ?? '';
$verdict = $_SERVER['HTTP_X_ROBOT_DETECTION_VERDICT'] ?? '';
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);

function page(string $title, string $body, int $status = 200): void
{
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    echo "<!doctype html><html lang=\"en\"><title>$title</title><h1>$title</h1>$body</html>\n";
}

// Robots get no session, as each request would create a new one.
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
    // Redirected robots do not get here.
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
