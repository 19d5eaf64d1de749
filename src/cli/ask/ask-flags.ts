/** Flags of the commands that ask a running proxy. */
import type { FlagDeclaration } from '../../config/flags/flag.ts'
import * as type from '../../config/flags/flag-types.ts'

export const askFlags = {
  server: {
    type: type.text,
    default: '',
    help: 'The proxy to ask: unix:///PATH, on Windows npipe:////./pipe/NAME, or http://127.0.0.1:PORT. Empty: the usual socket, then port 10249.',
  },
  output: {
    type: type.oneOf(['text', 'json']),
    short: 'o',
    default: 'text',
    help: 'text for people, json for programs.',
  },
} satisfies Readonly<Record<string, FlagDeclaration<string> | FlagDeclaration<'text' | 'json'>>>
