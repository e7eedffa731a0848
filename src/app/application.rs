//! Serves an axum application with the layer, the traffic counters and the console.

use std::{
    convert::Infallible,
    io::{self, IsTerminal, Write as _},
    net::SocketAddr,
    time::Duration,
};

use axum::{Router, body::Body, extract::Request, http::Response};
use tokio::{net::TcpListener, time::sleep};
use tower::{Service, ServiceExt};
use tower_layer::Layer as _;

use super::{RobotDetection, TrafficBody, admin_pages::FirstPassword, site::ADMIN_PATH};

/// The maximum time for active requests to finish at shutdown.
const DRAIN: Duration = Duration::from_secs(30);

impl RobotDetection {
    /// Serves an application until SIGINT (Ctrl-C) or SIGTERM, then [shuts down](Self::shutdown).
    ///
    /// Serves the result of [`around`](Self::around), and prints the console's URL and initial
    /// password, or the password's file, to standard error. Active requests have 30 seconds to
    /// finish; a second signal aborts them.
    ///
    /// # Errors
    ///
    /// Returns an error if the listener has no address, or if signal handlers cannot be installed.
    ///
    /// # Panics
    ///
    /// Panics if the application has a route below `/robot-detection/admin`.
    ///
    /// # Example
    ///
    /// ```no_run
    /// # async fn example(site: axum::Router) -> Result<(), Box<dyn std::error::Error>> {
    /// let robots = robot_detection::RobotDetection::builder().build().await?;
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    /// robots.serve(listener, site).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve(&self, listener: TcpListener, site: Router) -> io::Result<()> {
        let address = listener.local_addr()?;
        let stop = self.parts().stop.child_token();
        let site = self.with_console(site, self.admin_router_with_login(stop.clone()));
        self.announce_console(address).await;
        // The same token ends the console's event streams, so that they do not delay the shutdown.
        let site =
            axum::ServiceExt::<Request>::into_make_service_with_connect_info::<SocketAddr>(site);
        let serving = axum::serve(listener, site);
        let serving = serving.with_graceful_shutdown(stop.clone().cancelled_owned());
        let ending = async {
            stop_signal().await?;
            stop.cancel();
            tokio::select! {
                again = stop_signal() => again,
                () = sleep(DRAIN) => Ok(()),
            }
        };
        let ended = tokio::select! {
            served = serving.into_future() => served,
            ended = ending => ended,
        };
        self.shutdown().await;
        ended
    }

    /// Returns an application with the layer, the traffic counters and the console added to it.
    ///
    /// Adds [`layer`](Self::layer), [`traffic_layer`](Self::traffic_layer) and, below
    /// `/robot-detection/admin`, [`admin_router`](Self::admin_router). Use this method for an
    /// application that is not served by [`serve`](Self::serve) and is not nested in another
    /// router.
    ///
    /// # Panics
    ///
    /// Panics if the application has a route below `/robot-detection/admin`, or if called outside a
    /// Tokio runtime.
    #[must_use]
    pub fn around(
        &self,
        site: Router,
    ) -> impl Service<Request, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + use<> {
        self.with_console(site, self.admin_router())
    }

    fn with_console(
        &self,
        site: Router,
        console: Router,
    ) -> impl Service<Request, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + use<> {
        let site = self.layer().around(site.nest_service(ADMIN_PATH, console));
        let boxed = |response: Response<TrafficBody<Body>>| response.map(Body::new);
        ServiceExt::<Request>::map_response(self.traffic_layer().layer(site), boxed)
    }

    /// Prints the URL of the console, and a generated password if no password is set yet.
    async fn announce_console(&self, address: SocketAddr) {
        let password = match self.first_password(None, io::stderr().is_terminal()).await {
            Ok(Some(FirstPassword::Shown(password))) => format!("{password} (not shown again)"),
            Ok(Some(FirstPassword::Written(file) | FirstPassword::Chosen(file))) => {
                format!(
                    "in {}; delete the file after the first login",
                    file.display()
                )
            }
            Ok(None) => "already set".to_owned(),
            Err(error) => {
                self.make_password();
                format!("not set yet; the log will show its file: {error}")
            }
        };
        let lines = format!("console: http://{address}{ADMIN_PATH}/\npassword: {password}\n");
        // If standard error is closed, its failure cannot be reported.
        let _ = io::stderr().lock().write_all(lines.as_bytes());
    }
}

/// Waits for SIGINT or SIGTERM.
async fn stop_signal() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(())
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
