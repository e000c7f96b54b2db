//! A request as a script sees it, whatever its dialect.

/// What rules are tried against.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen<'a> {
    pub model: &'a str,
    /// Names of the tools offered.
    pub tools: Vec<&'a str>,
    /// Texts of the system prompt and of system messages.
    pub system: Vec<&'a str>,
    /// How many messages the client sent.
    pub sent: usize,
    /// Messages of the user and of the model. Results of tools, and what the user says directly behind them,
    /// are one message of the user.
    pub messages: Vec<SeenMessage<'a>>,
}

/// One message.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenMessage<'a> {
    /// Whether it is the user's; else it is the model's.
    pub by_user: bool,
    pub texts: Vec<&'a str>,
    /// Id and name of each tool called.
    pub calls: Vec<(&'a str, &'a str)>,
    pub results: Vec<SeenResult<'a>>,
}

impl<'a> SeenMessage<'a> {
    /// What the user wrote; reminders wrapped in tags are not the user's words.
    pub fn words(&self) -> impl Iterator<Item = &'a str> {
        let is_reminder = |text: &str| REMINDERS.iter().any(|tag| text.trim_start().starts_with(tag));
        self.texts.iter().copied().filter(move |text| !is_reminder(text))
    }

    /// Whether the user speaks in it.
    pub fn speaks(&self) -> bool {
        self.by_user && self.words().next().is_some()
    }
}

/// A tool's result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenResult<'a> {
    /// Id of the call it answers.
    pub call: &'a str,
    pub text: &'a str,
    pub is_error: bool,
}

/// How texts begin that a client says in the user's place.
const REMINDERS: [&str; 2] = ["<system-reminder", "<antefix-note"];
