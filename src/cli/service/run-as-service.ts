/** A command as a service of Windows: the service control manager is told how far it is, and can ask it to stop. */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { ManagedService, ServiceManager, StopControl } from '../../dataplane/windows-service/windows-service.ts'

export interface ServiceOptions {
  readonly manager: ServiceManager
  readonly clock: Clock
  /** Called once the manager has been contacted, and not before: nothing else is as urgent. */
  readonly prepare: () => ServiceWork
}

export interface ServiceWork {
  readonly log: Logger
  /** Ends in order when the signal aborts. Its exit code is the one of the service. */
  run(onRunning: () => void, signal: AbortSignal): Promise<number>
}

/** A start that fails before it can say why has this exit code: there is no log file to look into. */
const noLogExitCode = 2
const checkpointEveryMs = 1_000
const waitHintMs = 10_000
/** Whoever has not ended by then is not waited for. */
const longestEndMs = 30_000

/**
 * Resolves with the exit code of the process once the manager knows that the service has stopped. Rejects if the manager
 * cannot be reached, or if the preparation fails.
 */
export async function runAsService({ manager, clock, prepare }: ServiceOptions): Promise<number> {
  const stop = new AbortController()
  let onStop = (_why: StopControl) => {}
  const service = await manager.connect((why) => onStop(why))
  let work: ServiceWork
  try {
    work = prepare()
  } catch (error) {
    await stopped(service, noLogExitCode)
    throw error
  }
  const { log } = work
  const ending = endOnRequest({ service, clock, log, stop }, (handler) => (onStop = handler))
  log.info('started by the service control manager')
  const starting = new AbortController()
  void reportPending('start-pending', { service, clock }, starting.signal)
  const onRunning = () => {
    starting.abort()
    if (!stop.signal.aborted) service.report({ state: 'running' })
  }
  const exitCode = await Promise.race([run(work, onRunning, stop.signal), ending.tookTooLong])
  starting.abort()
  ending.done()
  log.info('the service has stopped', { exitCode })
  await stopped(service, exitCode)
  return exitCode
}

async function run(work: ServiceWork, onRunning: () => void, signal: AbortSignal): Promise<number> {
  try {
    return await work.run(onRunning, signal)
  } catch (error) {
    work.log.error('the service failed', { error })
    return 1
  }
}

interface Ending {
  readonly service: ManagedService
  readonly clock: Clock
  readonly log: Logger
  readonly stop: AbortController
}

/** At the first request to stop: aborts the signal, and tells the manager again and again that the end is under way. */
function endOnRequest({ service, clock, log, stop }: Ending, listen: (onStop: (why: StopControl) => void) => void) {
  const done = new AbortController()
  const tookTooLong = new Promise<number>((resolve) => {
    listen((why) => {
      if (stop.signal.aborted) return
      log.info('asked to stop', { control: why })
      void reportPending('stop-pending', { service, clock }, done.signal)
      stop.abort(new Error(`stopped by the service control manager (${why})`))
      const giveUp = () => {
        log.error('the orderly end takes too long; ending at once', { waitedMs: longestEndMs })
        resolve(1)
      }
      clock.sleep(longestEndMs, done.signal).then(giveUp, () => {}) // it has ended meanwhile
    })
  })
  return { tookTooLong, done: () => done.abort() }
}

/** Now, and again and again until the signal aborts. */
async function reportPending(
  state: 'start-pending' | 'stop-pending',
  { service, clock }: Pick<Ending, 'service' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  for (let checkpoint = 1; !signal.aborted; checkpoint++) {
    service.report({ state, checkpoint, waitHintMs })
    await clock.sleep(checkpointEveryMs, signal).catch(() => {})
  }
}

async function stopped(service: ManagedService, exitCode: number): Promise<void> {
  service.report({ state: 'stopped', exitCode })
  await service.released
}
