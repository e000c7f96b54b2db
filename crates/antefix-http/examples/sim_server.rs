//! The simulator as a server: `sim_server [SCRIPT] [CAPTURE_DIR]`. Prints its base URL on the first line and
//! runs until its standard input is closed.

use std::io::{self, Read, Write};

use antefix_http::server::{ServerOptions, SimServer};
use antefix_sim::{Config, Script, Simulator};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let script = match arguments.next() {
        Some(path) => Script::parse(&std::fs::read_to_string(path)?).map_err(io::Error::other)?,
        None => Script::default_script(),
    };
    let options = ServerOptions { capture: arguments.next().map(Into::into), ..ServerOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = SimServer::start(options, Simulator::new(Config::default(), script)).await?;
        writeln!(io::stdout(), "{}", server.base_url())?;
        let waiting = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
        waiting.await.map_err(io::Error::other)??;
        server.shutdown().await;
        Ok(())
    })
}
