// palacelog integrate: this file is written by `palacelog integrate install pi`; what is changed
// here is lost. It is plain JavaScript, so that any version of pi can load it.
import { execFile } from "node:child_process";

const CONFIGURATION = __CONFIGURATION__;

const LABELS = ["full", "read-only", "off"];
const MODES = { full: "full", "read-only": "read_only", off: "disabled" };
const OF_MODES = { full: "full", read_only: "read-only", disabled: "off" };
const TYPE = "palacelog";
const SHOWN_MAX = 50_000;
const CALL_MILLISECONDS = 120_000;

/** What the person chose for this session; never more than was installed. */
let chosen = "full";

/** The least of what was installed, chosen and said by the environment; what nobody knows is off. */
function label() {
  const said = [CONFIGURATION.label, chosen];
  if (process.env.PALACELOG_LABEL !== undefined) said.push(process.env.PALACELOG_LABEL);
  if (process.env.PALACELOG_MODE !== undefined) said.push(OF_MODES[process.env.PALACELOG_MODE]);
  const places = said.map((one) => (LABELS.includes(one) ? LABELS.indexOf(one) : 2));
  return LABELS[Math.max(...places)];
}

/** Run the palacelog command; what it says on standard output, or its error. */
function run(words, given, { directory, milliseconds, signal } = {}) {
  const [command, ...before] = CONFIGURATION.command;
  const options = { cwd: directory, timeout: milliseconds, maxBuffer: 1 << 26, signal };
  return new Promise((resolve, reject) => {
    const child = execFile(command, [...before, ...words], options, (error, said, complaint) =>
      error ? reject(new Error(complaint?.trim() || error.message)) : resolve(said.trim()),
    );
    child.stdin?.on("error", () => {});
    child.stdin?.end(JSON.stringify(given));
  });
}

async function overHttp(tool, given, signal, context) {
  const headers = { "content-type": "application/json", "x-palacelog-mode": MODES[label()] };
  headers["x-palacelog-agent"] = CONFIGURATION.host;
  const named = session(context).replace(/[^!-~]/g, "?").slice(0, 128);
  if (named) headers["x-palacelog-session"] = named;
  const variable = CONFIGURATION.token_variable;
  if (variable) headers.authorization = `Bearer ${process.env[variable] ?? ""}`;
  const address = `${CONFIGURATION.url}/api/call/${tool}`;
  const body = JSON.stringify(given);
  const answer = await fetch(address, { method: "POST", headers, body, signal });
  const said = await answer.text();
  if (!answer.ok) throw new Error(said);
  return said;
}

function session(context) {
  return context?.sessionManager?.getSessionId?.() ?? "";
}

async function call(tool, given, signal, context) {
  if (label() === "off") throw new Error("Memory is off for this session.");
  if (CONFIGURATION.url) return overHttp(tool, given, signal, context);
  const words = ["--mode", MODES[label()], "--agent", CONFIGURATION.host];
  if (session(context)) words.push("--session", session(context));
  const options = { directory: context?.cwd, milliseconds: CALL_MILLISECONDS, signal };
  return run([...words, "call", tool, "-"], given, options);
}

/** What the palace says at an event; nothing where it does not answer. */
async function ask(source, context) {
  const words = ["hook", "session-start", "--host", CONFIGURATION.host, "--label", label()];
  const given = { session_id: session(context), cwd: context?.cwd, source };
  const options = { directory: context?.cwd, milliseconds: CONFIGURATION.milliseconds };
  return run(words, given, options).catch(() => "");
}

function shown(text) {
  if (text.length <= SHOWN_MAX) return text;
  return `${text.slice(0, SHOWN_MAX)}\n[cut: ask for less, with limit or max_bytes]`;
}

function register(pi, tool) {
  pi.registerTool({
    name: `palacelog_${tool.name}`,
    label: `Memory: ${tool.name}`,
    description: tool.description,
    parameters: tool.parameters,
    async execute(id, given, signal, onUpdate, context) {
      const said = await call(tool.name, given, signal, context);
      return { content: [{ type: "text", text: shown(said) }], details: {} };
    },
  });
}

export default function palacelog(pi) {
  let source = "startup";
  const listed = CONFIGURATION.tools.filter((tool) => tool.reads || label() === "full");
  if (label() !== "off") for (const tool of listed) register(pi, tool);

  pi.on("session_start", async () => {
    source = "startup";
  });

  pi.on("session_compact", async () => {
    source = "compact";
  });

  pi.on("before_agent_start", async (event, context) => {
    if (label() === "off" || source === null) return undefined;
    const said = await ask(source, context);
    source = null;
    if (!said || label() === "off") return undefined;
    return { message: { customType: TYPE, content: said, display: false } };
  });

  pi.on("context", async (event) => {
    if (label() !== "off") return undefined;
    source = "startup";
    return { messages: event.messages.filter((one) => one.customType !== TYPE) };
  });

  pi.registerCommand?.("palacelog", {
    description: "How much memory this session uses: full, read-only or off",
    async handler(words, context) {
      chosen = LABELS.includes(words.trim()) ? words.trim() : "off";
      context?.ui?.notify?.(`Memory is ${label()}.`, "info");
    },
  });
}
