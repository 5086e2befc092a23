// palacelog integrate: this file is written by `palacelog integrate install opencode`; what is
// changed here is lost. opencode 1 calls server(), opencode 2 calls setup(). Nothing else may be
// exported: opencode 1 takes each export for a plugin.
import { execFile } from "node:child_process";

const CONFIGURATION = __CONFIGURATION__;

const LABELS = ["full", "read-only", "off"];
const MODES = { full: "full", read_only: "read-only", disabled: "off" };

/** What was fetched, by session. */
const fetched = new Map();

/** The least of what was installed and what the environment says; what nobody knows is off. */
function label() {
  const said = [CONFIGURATION.label];
  if (process.env.PALACELOG_LABEL !== undefined) said.push(process.env.PALACELOG_LABEL);
  if (process.env.PALACELOG_MODE !== undefined) said.push(MODES[process.env.PALACELOG_MODE]);
  return said.reduce((least, one) => {
    const at = LABELS.includes(one) ? LABELS.indexOf(one) : LABELS.length - 1;
    return LABELS[Math.max(LABELS.indexOf(least), at)];
  }, "full");
}

/** What the palace says at an event; nothing where it does not answer. */
function ask(event, session, directory) {
  const [command, ...before] = CONFIGURATION.command;
  const words = [...before, event, "--host", CONFIGURATION.host, "--label", label()];
  const options = { cwd: directory, timeout: CONFIGURATION.milliseconds, maxBuffer: 1 << 20 };
  return new Promise((resolve) => {
    const child = execFile(command, words, options, (error, said) =>
      resolve(error ? "" : said.trim()),
    );
    child.on("error", () => resolve(""));
    child.stdin?.on("error", () => {});
    child.stdin?.end(JSON.stringify({ session_id: session, cwd: directory }));
  });
}

/** What is told at the start of a session; asked for once, until it is compacted. */
async function remembered(session, directory) {
  if (label() === "off") {
    fetched.clear();
    return "";
  }
  if (!fetched.has(session)) fetched.set(session, ask("session-start", session, directory));
  const said = await fetched.get(session);
  return label() === "off" ? "" : said;
}

/** What is told to whoever makes a summary of the session. */
async function beforeCompaction(session, directory) {
  fetched.delete(session);
  if (label() === "off") {
    fetched.clear();
    return "";
  }
  const said = await ask("pre-compact", session, directory);
  return label() === "off" ? "" : said;
}

export default {
  id: "palacelog",

  async server({ directory }) {
    return {
      "experimental.chat.system.transform": async (input, output) => {
        const said = await remembered(input?.sessionID ?? "", directory);
        if (said) output.system.push(said);
      },
      "experimental.session.compacting": async (input, output) => {
        const said = await beforeCompaction(input?.sessionID ?? "", directory);
        if (said) output.context.push(said);
      },
    };
  },

  async setup(context) {
    const directory = context.location?.directory;
    await context.session.hook("context", async (event) => {
      const said = await remembered(event.sessionID ?? "", directory);
      if (said) event.system.push({ type: "text", text: said });
    });
    await context.session.hook("compaction", async (event) => {
      const said = await beforeCompaction(event.sessionID ?? "", directory);
      if (said) event.system.push({ type: "text", text: said });
    });
  },
};
