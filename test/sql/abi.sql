-- rflow.abi(): human-readable fragments and JSON ABIs, and errors that show the place.
SELECT jsonb_pretty(rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
							  'function transfer(address to, uint256 value) returns (bool)',
							  'function balanceOf(address owner) view returns (uint256)',
							  'error InsufficientBalance(uint256 available, uint256 required)',
							  'constructor(string name)', 'receive() external payable'));

-- A struct may be anywhere among the fragments; tuples, arrays and aliases are spelt out.
SELECT item->>'type' AS type, item->>'name' AS name, item->'inputs' AS inputs
FROM jsonb_array_elements(rflow.abi('function place(Order[] orders, uint n)', 'struct Order { address maker; uint96 price; Item[2] items; }',
									'struct Item { bytes32 id; }', 'event Placed(Order order) anonymous')) AS item;

-- JSON ABI and artifacts of compilers, alone and mixed with fragments; what comes out goes in again.
SELECT rflow.abi('[{"type":"function","name":"a","inputs":[],"outputs":[],"constant":true,"payable":false}]') AS old,
	   rflow.abi(' {"contractName": "X", "abi": [{"type":"event","name":"E","inputs":[{"type":"uint256","indexed":true}]}]}') AS artifact;
SELECT jsonb_agg(item->'name') AS names
FROM jsonb_array_elements(rflow.abi('function f()', '[{"type":"function","name":"g","inputs":[],"outputs":[],"stateMutability":"view"}]', 'event E()')) AS item;
SELECT rflow.abi(a::text) = a AS same
FROM rflow.abi('event E(uint a, (bytes b, string[3] c)[] indexed d)', 'function f(int8 a) payable', 'error X(bool)', 'fallback()', 'constructor() payable') AS a;
SELECT rflow.abi(VARIADIC '{}') AS nothing, rflow.abi(VARIADIC NULL) AS null;

-- Topics and selectors, by full declaration or by signature.
SELECT rflow.event_topic('Transfer(address,address,uint256)') AS signature,
	   rflow.event_topic('event Transfer(address indexed from, address indexed to, uint value)')
	   = rflow.event_topic('Transfer(address,address,uint256)') AS declaration;
SELECT rflow.function_selector('transfer(address,uint256)'), rflow.function_selector('function transfer(address to, uint value) returns (bool)') AS declaration,
	   rflow.function_selector('error InsufficientBalance(uint256 available, uint256 required)') AS error;

-- Errors name the fragment, and show it with the position.
SELECT rflow.abi('event Transfer(adress indexed from)');
SELECT rflow.abi('function f()', 'function transfer(address to, uint256 value');
SELECT rflow.abi('');
SELECT rflow.abi('struct S { uint a; }');
SELECT rflow.abi('struct S { S[] a; }', 'function f(S s)');
SELECT rflow.abi('event E(uint indexed a, uint indexed b, uint indexed c, uint indexed d)');
SELECT rflow.abi('function f(uint[0] a)');
SELECT rflow.abi('[{"type":"function"}]');
SELECT rflow.abi('function f()', '[5]');
SELECT rflow.abi('function f()', NULL);
SELECT rflow.event_topic('event Transfer(address indexed from');
SELECT rflow.event_topic('Transfer(adress)');
SELECT rflow.event_topic('event Hidden(uint256) anonymous');
SELECT rflow.event_topic('function transfer(address,uint256)');
SELECT rflow.function_selector('event Transfer(address)');
SELECT rflow.function_selector('constructor(uint256)');

-- With these SQLSTATEs.
\set VERBOSITY sqlstate
SELECT rflow.abi('event Transfer(adress indexed from)');
SELECT rflow.abi('[{"type":"function"}]');
SELECT rflow.abi('function f()', NULL);
SELECT rflow.abi('function f(' || repeat('(', 100));
SELECT rflow.event_topic('event Hidden(uint256) anonymous');
SELECT rflow.function_selector('event Transfer(address)');
