// Compiles src/*.sol and writes one JSON file for each contract that already has one here
// (give names to add others).  See README.md for the packages it needs.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(path.join(process.cwd(), 'package.json'));
const solc = require('solc');
const here = path.dirname(new URL(import.meta.url).pathname);
const evmVersion = 'cancun';

const sources = Object.fromEntries(
  fs.readdirSync(path.join(here, 'src')).sort().map((name) =>
    [name, { content: fs.readFileSync(path.join(here, 'src', name), 'utf8') }]));

const input = {
  language: 'Solidity',
  sources,
  settings: {
    evmVersion,
    optimizer: { enabled: true, runs: 200 },
    metadata: { appendCBOR: false, bytecodeHash: 'none' }, // the same source, the same bytes
    outputSelection: {
      '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object',
                   'evm.methodIdentifiers'] },
    },
  },
};

const readImport = (name) => ({ contents: fs.readFileSync(require.resolve(name), 'utf8') });
const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport }));
const errors = (output.errors ?? []).filter((e) => e.severity === 'error');

if (errors.length > 0) {
  console.error(errors.map((e) => e.formattedMessage).join('\n'));
  process.exit(1);
}

const asked = process.argv.slice(2);
const present = fs.readdirSync(here).filter((f) => f.endsWith('.json')).map((f) => f.slice(0, -5));
const wanted = new Set([...present, ...asked]);

for (const [sourceName, contracts] of Object.entries(output.contracts)) {
  for (const [contractName, contract] of Object.entries(contracts)) {
    if (!wanted.has(contractName)) continue;
    fs.writeFileSync(path.join(here, `${contractName}.json`), JSON.stringify({
      contractName,
      sourceName,
      license: 'MIT',
      compiler: solc.version(),
      evmVersion,
      abi: contract.abi,
      bytecode: `0x${contract.evm.bytecode.object}`,
      deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
      methodIdentifiers: contract.evm.methodIdentifiers,
    }, null, 1) + '\n');
  }
}
