import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { RecordingLogger } from '../kube/testing/recording-logger.ts'
import { TemporaryFolder } from '../kube/testing/temporary-folder.ts'
import { StateFileSource } from './state-file-source.ts'

const state = (...names: readonly string[]) =>
  `services:\n${names.map((name) => `- service: {name: ${name}}\n  endpoints: [{endpoint: {ips: {v4: [10.1.0.1]}}}]\n`).join('')}`

test('a file with a bad record leaves the last good state, and says once which record it is', async () => {
  await using folder = await TemporaryFolder.make()
  await folder.write('state.yaml', state('web', 'shop'))
  const [clock, log, store] = [new FakeClock(), new RecordingLogger(), new GlobalStore()]
  const stop = new AbortController()
  const path = `${folder.path}/state.yaml`
  const running = new StateFileSource({ path, store, clock, log }).run(stop.signal)
  const services = () => [...store.servicePaths()]
  const look = async () => {
    await expect.poll(() => clock.sleeping).toBe(1)
    await clock.advance(1_000)
    await expect.poll(() => clock.sleeping).toBe(1)
  }
  await expect.poll(services).toEqual(['default/web', 'default/shop'])

  await folder.write('state.yaml', state('new', 'web', '"sh\\nop"'))
  await look()
  expect(services()).toEqual(['default/web', 'default/shop'])
  await folder.write('state.yaml', `${state('new', 'web', '"sh\\nop"')}# still\n`)
  await look()
  const [line, ...others] = log.lines
  expect(line?.fields['problem']).toContain(`${path}:6: services[2].service.name must be a name`)
  expect(others).toEqual([])

  await folder.write('state.yaml', state('new'))
  await look()
  await expect.poll(services).toEqual(['default/new'])
  stop.abort()
  await running
})
