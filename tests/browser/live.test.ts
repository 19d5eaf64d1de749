/** The page follows by itself: changes by kubectl, and a daemon that is killed and comes back. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { kubectl, whyNoKubectl } from '../e2e/testing/kubectl.ts'
import { manifest, service } from '../e2e/testing/objects.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { report } from './testing/report.ts'
import { Shop } from './testing/shop.ts'
import { WatchedPage } from './testing/watched-page.ts'

const unlessKubectl = whyNoKubectl === undefined ? '' : ` (skipped: ${whyNoKubectl})`

describe.skipIf(whyNoChromium !== undefined)(`a page that is open${unlessChromium}`, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    ;[browser, shop] = await Promise.all([launchChromium(), Shop.open()])
  })

  afterAll(async () => {
    await browser?.close()
    await shop?.[Symbol.asyncDispose]()
  })

  test.skipIf(whyNoKubectl !== undefined)(
    `shows what kubectl changes, without being loaded again${unlessKubectl}`,
    async () => {
      await using folder = await TemporaryFolder.make()
      await using watched = await WatchedPage.open(browser, `${shop.url}/services`)
      const { page } = watched
      await page.getByRole('link', { name: 'empty' }).waitFor()
      await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
      const { port } = await freePorts('port')
      const file = await folder.write('late.yaml', manifest(service('late', port)))

      const seen = page.getByRole('link', { name: 'late' })
      await kubectl(shop.cluster.kubeconfig, 'apply', '-f', file)
      const appliedAt = performance.now()
      await seen.waitFor()
      report('a Service that kubectl applied is on the page after', performance.now() - appliedAt)

      await kubectl(shop.cluster.kubeconfig, 'delete', '-f', file, '--wait=false')
      const deletedAt = performance.now()
      await seen.waitFor({ state: 'detached' })
      report('one that kubectl deleted is gone after', performance.now() - deletedAt)
      expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
      expect(watched.problems).toEqual([])
    },
  )

  test.skipIf(whyNoKubectl !== undefined)(
    `shows on a Service's page that an endpoint goes${unlessKubectl}`,
    async () => {
      await using watched = await WatchedPage.open(browser, `${shop.url}/services/default/web`)
      const { page } = watched
      const notReady = page.getByRole('cell', { name: 'not ready' }).first()
      await page.getByRole('cell', { name: 'ready', exact: true }).waitFor()
      const patch = (isReady: boolean) =>
        kubectl(
          shop.cluster.kubeconfig,
          'patch',
          'endpointslice',
          'web-1',
          '--type=json',
          `--patch=[{"op":"add","path":"/endpoints/0/conditions","value":{"ready":${String(isReady)}}}]`,
        )
      await patch(false)
      const patchedAt = performance.now()
      await notReady.waitFor()
      report('an endpoint that is not ready is shown so after', performance.now() - patchedAt)
      await patch(true)
      await notReady.waitFor({ state: 'detached' })
      expect(watched.problems).toEqual([])
    },
  )

  test('comes back by itself when the daemon was killed, and shows the new process', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/services`)
    const { page } = watched
    const state = (name: string) => page.locator(`.connection[data-state="${name}"]`).waitFor({ state: 'attached' })
    await page.getByRole('link', { name: 'empty' }).waitFor()
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
    await shop.daemon.kill()
    await state('lost')
    // What was there is still to be read.
    expect(await page.getByRole('link', { name: 'empty' }).isVisible()).toBe(true)
    const { port } = await freePorts('port')
    const late = service('since-then', port)
    await shop.cluster.create(late)
    await shop.daemon.startAgain()
    const startedAt = performance.now()
    await state('live')
    await page.getByRole('link', { name: 'since-then' }).waitFor()
    report('after a kill the page is back', performance.now() - startedAt)
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
    await shop.cluster.delete(late)
  })

  test('rests when nobody sees it, and is back at once when somebody looks', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/services`)
    const { page } = watched
    await page.clock.install()
    await page.reload()
    await watched.isLive()
    await page.getByRole('link', { name: 'empty' }).waitFor()
    const turn = (isHidden: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
        Object.defineProperty(document, 'visibilityState', { value: hidden ? 'hidden' : 'visible', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden)
    await turn(true)
    await page.clock.fastForward('02:00')
    await page.locator('.connection[data-state="resting"]').waitFor({ state: 'attached' })
    await turn(false)
    await watched.isLive()
    expect(watched.problems).toEqual([])
  })
})
