/** `--windows-service`, on the real Windows. */
import { nativeServiceManager } from '../../dataplane/windows-service/native-service-manager.ts'
import { WindowsServiceError } from '../../dataplane/windows-service/windows-service.ts'
import type { Host } from '../host/host.ts'
import { textLogger } from '../host/logger-for.ts'
import { CommandError } from '../program.ts'
import type { LogFilePlace } from './early-flags.ts'
import { logToFile } from './log-to-file.ts'
import { runAsService } from './run-as-service.ts'

/** Ends the process with the exit code of the command. */
export async function serviceCommand(
  run: (host: Host, onRunning: () => void, signal: AbortSignal) => Promise<number>,
  logFile: LogFilePlace,
  host: Host,
): Promise<never> {
  try {
    const exitCode = await runAsService({
      manager: nativeServiceManager(),
      clock: host.clock,
      prepare() {
        // A service has no console.
        const silent = logToFile(host, logFile, { hasConsole: false })
        return { log: textLogger(0, silent), run: (onRunning, signal) => run(silent, onRunning, signal) }
      },
    })
    // Whatever has not ended in order must not outlive the service.
    process.exit(exitCode)
  } catch (error) {
    if (error instanceof WindowsServiceError) throw new CommandError(error.message, { cause: error })
    throw error
  }
}
