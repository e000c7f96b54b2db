use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::tap::{Arrival, Tap};
use crate::BoxFuture;
use crate::question::{Questions, Reply};

/// Sends one message of ours.
pub(crate) trait Carrier: Send + Sync + 'static {
    /// Sends a message, which is one line of JSON without its end.
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, std::io::Result<()>>;
}

/// A connection as `rmcp` wants it: the tap in front of whatever carries the bytes.
pub(crate) struct Wire {
    pub(crate) server: String,
    pub(crate) tap: Arc<Tap>,
    /// Messages as they come; closed when the connection is.
    pub(crate) incoming: mpsc::Receiver<Vec<u8>>,
    pub(crate) outgoing: Arc<dyn Carrier>,
    pub(crate) questions: Option<Arc<dyn Questions>>,
    /// Questions that wait for the user; they end with the connection.
    pub(crate) asked: JoinSet<()>,
}

impl Transport<RoleClient> for Wire {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let message = self.tap.outgoing(&item).map(|message| self.outgoing.send(message));
        async move { message?.await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let text = self.incoming.recv().await?;
            match self.tap.incoming(&text) {
                Arrival::Message(message) => return Some(*message),
                Arrival::Question(id, question) => self.ask(id, question),
                Arrival::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.asked.abort_all();
        self.incoming.close();
        Ok(())
    }
}

impl Wire {
    fn ask(&mut self, id: String, question: crate::question::Elicitation) {
        let (questions, outgoing, server) =
            (self.questions.clone(), Arc::clone(&self.outgoing), self.server.clone());
        while self.asked.try_join_next().is_some() {}
        if self.asked.len() >= MOST_QUESTIONS {
            self.tap.notes.add("it asks more questions at once than are passed on");
            return;
        }
        // Where nobody is asked, nobody is waited for.
        let is_asked = questions.as_ref().is_some_and(|questions| questions.is_anybody_there());
        let waiting = is_asked.then(|| self.tap.wait_for_user());
        self.asked.spawn(async move {
            let reply = match questions {
                Some(questions) => questions.ask(&server, question).await,
                None => Reply::Cancel,
            };
            drop(waiting);
            let result = reply.result();
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":");
            // A server that is gone meanwhile wants no answer.
            let _ = outgoing.send([head.as_bytes(), &result, b"}"].concat()).await;
        });
    }
}

/// Questions of one server that wait for the user at once.
const MOST_QUESTIONS: usize = 8;
