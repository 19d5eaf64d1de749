import { dirname } from 'node:path'
import { makePrivateFolder } from '../../host/private-folder.ts'
import { openLogFile } from '../../observe/logging/log-file.ts'
import type { Host } from '../host/host.ts'
import { CommandError } from '../program.ts'
import type { LogFilePlace } from './early-flags.ts'

/** The same machine, with its log in a file; with `hasConsole: false` everything else goes there too. */
export function logToFile(host: Host, place: LogFilePlace, { hasConsole }: { readonly hasConsole: boolean }): Host {
  let file
  try {
    if (!hasConsole) makePrivateFolder(dirname(place.path))
    file = openLogFile(place)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`cannot write the log to ${place.path}: ${reason}; name another file with --log-file`, {
      cause: error,
    })
  }
  const streams = { stdout: file, stderr: file }
  // Node.js prints what nobody has caught to stderr, which nobody may see.
  process.on('uncaughtExceptionMonitor', (error) => void file.write(`${error.stack ?? String(error)}\n`))
  return {
    ...host,
    process: { ...host.process, logStreams: streams, streams: hasConsole ? host.process.streams : streams },
  }
}
