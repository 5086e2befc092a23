// Loads the plugin that was installed, as both major versions of opencode do, and goes its ways.
// Arguments: the plugin, the project's folder, and the label that the environment says meanwhile.
import { pathToFileURL } from "node:url";

const [file, directory, meanwhile] = process.argv.slice(2);
const loaded = await import(pathToFileURL(file).href);
if (Object.keys(loaded).join() !== "default") throw new Error("exports more than a plugin");
const plugin = loaded.default;
if (typeof plugin.id !== "string") throw new Error("a plugin in a file needs an id");

async function first(session) {
  const hooks = await plugin.server({ directory, project: {}, client: {}, $: undefined });
  const system = ["as it was"];
  const context = [];
  const input = { sessionID: session, model: {} };
  await hooks["experimental.chat.system.transform"](input, { system });
  await hooks["experimental.chat.system.transform"](input, { system });
  await hooks["experimental.session.compacting"](input, { context });
  return { system: system.slice(1), context };
}

async function second(session) {
  const hooks = {};
  const hook = async (name, run) => {
    hooks[name] = run;
  };
  await plugin.setup({ location: { directory }, session: { hook } });
  const context = { sessionID: session, system: [] };
  const compaction = { sessionID: session, system: [] };
  await hooks.context(context);
  await hooks.compaction(compaction);
  for (const part of [...context.system, ...compaction.system]) {
    if (part.type !== "text") throw new Error("opencode 2 takes parts");
  }
  const texts = (event) => event.system.map((part) => part.text);
  return { system: texts(context), context: texts(compaction) };
}

const told = { first: await first("s1"), second: await second("s2") };
if (meanwhile !== undefined) {
  process.env.PALACELOG_LABEL = meanwhile;
  told.meanwhile = await first("s1");
  delete process.env.PALACELOG_LABEL;
  told.afterwards = await first("s1");
}
process.stdout.write(JSON.stringify(told));
