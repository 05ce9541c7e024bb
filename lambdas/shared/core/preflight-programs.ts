/**
 * Programs for the Node of a sandbox, given with `-e`. They hold no quotation mark but the backquote, so that they stand in
 * single quotes in a POSIX shell and in PowerShell alike.
 */

/** Arguments: method, URL, headers as a query string, body. Prints `status <number> <text>` or `none <code>`. */
export const WEB_PROGRAM = `
const [method, url, headers, body] = process.argv.slice(1);
const options = { method, headers: Object.fromEntries(new URLSearchParams(headers)), redirect: \`manual\` };
if (body) options.body = body;
fetch(url, { ...options, signal: AbortSignal.timeout(5000) })
  .then(async (answer) => \`status \${answer.status} \${(await answer.text()).slice(0, 160)}\`)
  .catch((error) => \`none \${error.cause?.code ?? error.name}\`)
  .then((line) => console.log(line));
`;

/** Arguments: host, ports. Prints `open <ports>`, or `closed` with what each port answered. */
export const CONNECT_PROGRAM = `
const net = require(\`node:net\`);
const [host, ...ports] = process.argv.slice(1);
const look = (port) => new Promise((resolve) => {
  const socket = net.connect({ host, port: Number(port) });
  const end = (said) => { socket.destroy(); resolve({ port, said }); };
  socket.setTimeout(4000, () => end(\`silent\`));
  socket.on(\`connect\`, () => end(\`open\`));
  socket.on(\`error\`, (error) => end(error.code));
});
Promise.all(ports.map(look)).then((all) => {
  const open = all.filter(({ said }) => said === \`open\` || said === \`ECONNREFUSED\`);
  const shown = (open.length > 0 ? open : all).map(({ port, said }) => \`\${port}:\${said}\`).join(\` \`);
  const isNowhere = all.some(({ said }) => [\`ENETUNREACH\`, \`ENOTFOUND\`, \`EAI_AGAIN\`].includes(said));
  console.log(\`\${open.length > 0 ? \`open\` : isNowhere ? \`nowhere\` : \`closed\`} \${shown}\`);
});
`;

/**
 * Arguments: metadata address, region, service, URL, target, content type, body. Signs one request with the credentials of
 * the machine's own role. Prints `status <number> <text>`, `none <why>`, or `norole <number>`.
 */
export const ROLE_PROGRAM = `
const { createHash, createHmac } = require(\`node:crypto\`);
const [metadata, region, service, url, target, type, body] = process.argv.slice(1);
const hex = (text) => createHash(\`sha256\`).update(text).digest(\`hex\`);
const mac = (key, text) => createHmac(\`sha256\`, key).update(text).digest();
const ask = (to, options) => fetch(to, { ...options, signal: AbortSignal.timeout(5000) });
const credentials = async () => {
  const asked = { method: \`PUT\`, headers: { [\`X-aws-ec2-metadata-token-ttl-seconds\`]: \`60\` } };
  const token = await (await ask(\`\${metadata}/latest/api/token\`, asked)).text();
  const headers = { [\`X-aws-ec2-metadata-token\`]: token };
  const base = \`\${metadata}/latest/meta-data/iam/security-credentials/\`;
  const names = await ask(base, { headers });
  if (names.status !== 200) throw Object.assign(new Error(), { name: \`norole\`, code: names.status });
  return (await ask(base + (await names.text()).split(\`\\n\`)[0].trim(), { headers })).json();
};
const signed = ({ AccessKeyId, SecretAccessKey, Token }) => {
  const { host, pathname, searchParams } = new URL(url);
  const date = new Date().toISOString().replace(/[-:]|[.][0-9]{3}/g, \`\`);
  const headers = { host, [\`x-amz-content-sha256\`]: hex(body), [\`x-amz-date\`]: date, [\`x-amz-security-token\`]: Token };
  if (type) headers[\`content-type\`] = type;
  if (target) headers[\`x-amz-target\`] = target;
  const names = Object.keys(headers).sort();
  const list = names.join(\`;\`);
  searchParams.sort();
  const query = searchParams.toString().replace(/[+]/g, \`%20\`);
  const lines = names.map((name) => \`\${name}:\${headers[name]}\\n\`).join(\`\`);
  const method = body ? \`POST\` : \`GET\`;
  const canonical = [method, pathname, query, lines, list, hex(body)].join(\`\\n\`);
  const scope = [date.slice(0, 8), region, service, \`aws4_request\`];
  const key = scope.reduce((made, part) => mac(made, part), \`AWS4\${SecretAccessKey}\`);
  const text = [\`AWS4-HMAC-SHA256\`, date, scope.join(\`/\`), hex(canonical)].join(\`\\n\`);
  const signature = mac(key, text).toString(\`hex\`);
  const proof = \`Credential=\${AccessKeyId}/\${scope.join(\`/\`)}, SignedHeaders=\${list}, Signature=\${signature}\`;
  const { host: _, ...sent } = headers;
  const given = { ...sent, authorization: \`AWS4-HMAC-SHA256 \${proof}\` };
  return { method, headers: given, ...(body ? { body } : {}) };
};
credentials()
  .then(async (given) => {
    const answer = await ask(url, signed(given));
    return \`status \${answer.status} \${(await answer.text()).slice(0, 240)}\`;
  })
  .catch((error) => error.name === \`norole\` ? \`norole \${error.code}\` : \`none \${error.cause?.code ?? error.name}\`)
  .then((line) => console.log(line));
`;
