// Loads the extension that was installed, as pi does, and goes its ways.
// Arguments: the extension, the project's folder, and calls of tools as JSON: [[name, arguments]].
import { pathToFileURL } from "node:url";

const [file, directory, calls, chosen] = process.argv.slice(2);
const { default: extension } = await import(pathToFileURL(file).href);

const tools = {};
const handlers = {};
const commands = {};
await extension({
  registerTool: (tool) => (tools[tool.name] = tool),
  registerCommand: (name, command) => (commands[name] = command),
  on: (event, handler) => (handlers[event] = handler),
});
const context = { cwd: directory, sessionManager: { getSessionId: () => "s1" } };

async function turn() {
  const answer = await handlers.before_agent_start({ prompt: "go on" }, context);
  return answer?.message ?? null;
}

async function call(name, given) {
  try {
    const answer = await tools[name].execute("t1", given, undefined, undefined, context);
    return { text: answer.content.map((part) => part.text).join("") };
  } catch (error) {
    return { error: error.message };
  }
}

const told = { tools: Object.keys(tools), called: [] };
await handlers.session_start({ reason: "startup" }, context);
told.start = await turn();
told.again = await turn();
await handlers.session_compact({}, context);
told.compacted = await turn();
for (const [name, given] of JSON.parse(calls)) told.called.push(await call(name, given));
const messages = [{ role: "user", content: "hi" }, { customType: "palacelog", content: "told" }];
told.context = (await handlers.context({ messages }, context)) ?? null;
if (chosen !== undefined) {
  await commands.palacelog.handler(chosen, context);
  told.chosen = {
    start: await turn(),
    called: await call(JSON.parse(calls)[0][0], JSON.parse(calls)[0][1]),
    context: (await handlers.context({ messages }, context)) ?? null,
  };
}
process.stdout.write(JSON.stringify(told));
