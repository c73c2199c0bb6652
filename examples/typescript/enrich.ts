// Asks a running service about one lead, a batch and a stream of leads over
// REST, and shows what a client does about errors, waits and deadlines.
// usage: enrich.ts EMAIL…      environment: ENRICHD_URL, ENRICHD_KEY

interface Answer {
  outcome: string;
  person?: { fullName?: string; title?: string };
  company?: { name?: string };
}
interface Failure {
  code: number;
  message: string;
  details?: { "@type": string; retryDelay?: string }[];
}
interface Result {
  correlationId?: string;
  response?: Answer;
  error?: Failure;
}

const url = process.env.ENRICHD_URL ?? "http://127.0.0.1:8470";
const headers: Record<string, string> = { "Content-Type": "application/json" };
if (process.env.ENRICHD_KEY) headers.Authorization = `Bearer ${process.env.ENRICHD_KEY}`;

// The deadline of every call, waits included, in milliseconds.
const deadline = 30_000;

// ask posts a body. It asks again while the service says when, in Retry-After,
// and the deadline leaves time for it.
async function ask(path: string, body: string): Promise<Response> {
  const ends = Date.now() + deadline;
  for (;;) {
    const signal = AbortSignal.timeout(Math.max(1, ends - Date.now()));
    const response = await fetch(url + path, { method: "POST", headers, body, signal });
    if (response.ok) return response;
    const text = await response.text();
    const seconds = Number(response.headers.get("Retry-After") ?? NaN);
    const canWait = [429, 503].includes(response.status) && Date.now() + seconds * 1000 < ends;
    if (!canWait) throw new Error(`${path}: ${response.status}: ${text}`);
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
}

// lines yields the lines of a body as they come.
async function* lines(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts.filter((line) => line !== "");
  }
  if (rest !== "") yield rest;
}

// show prints an answer, or why there is none.
function show(how: string, result: Result): void {
  if (result.error) {
    console.log(`${how}: error ${result.error.code}: ${result.error.message}`);
    return;
  }
  const { outcome, person, company } = result.response as Answer;
  console.log(`${how}: ${outcome} ${person?.fullName ?? ""}, ${person?.title ?? ""}, ${company?.name ?? ""}`);
}

const leads = process.argv.slice(2);
if (leads.length === 0) throw new Error("name the leads' e-mail addresses");

const one = await ask("/v1/enrich", JSON.stringify({ email: leads[0] }));
show("one", { response: (await one.json()) as Answer });

// Each question of a batch has an answer or an error of its own, in order.
const batch = await ask("/v1/enrich:batch", JSON.stringify({ requests: leads.map((email) => ({ email })) }));
for (const result of ((await batch.json()) as { results: Result[] }).results) show("batch", result);

// Answers of a stream come in the order in which they are ready.
const questions = leads.map((email, i) => JSON.stringify({ correlationId: String(i), request: { email } }) + "\n");
for await (const line of lines(await ask("/v1/enrich:stream", questions.join("")))) {
  const result = JSON.parse(line) as Result;
  if (!result.correlationId) throw new Error(`the stream ended: ${result.error?.message}`);
  show(`stream ${result.correlationId}`, result);
}
