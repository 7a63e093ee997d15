// abi.mjs: what the benchmark encodes and decodes, as each library wants it.
import { parseAbiItem } from 'viem';

export const TEXT = {
	transfer: 'event Transfer(address indexed from, address indexed to, uint256 value)',
	nested: 'event Order(bytes32 indexed id, address indexed maker, '
		+ '(address token, uint256 amount, (uint8 kind, bytes data)[] legs)[] items, string note)',
	call: 'function transfer(address to, uint256 amount) returns (bool)',
	swap: 'function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, '
		+ 'uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params) '
		+ 'payable returns (uint256 amountOut)',
};

export const TRANSFER = parseAbiItem(TEXT.transfer);
export const NESTED = parseAbiItem(TEXT.nested);
export const CALL = parseAbiItem(TEXT.call);
export const SWAP = parseAbiItem(TEXT.swap);
