/** What others write into objects is text on the page, whatever it looks like. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { ConsoleDaemon } from './testing/console-daemon.ts'
import { isAtRest } from './testing/every-page.ts'
import { WatchedPage } from './testing/watched-page.ts'

const script = '<script>globalThis.isHacked=true</script>'
const image = '"><img src=x onerror="globalThis.isHacked=true">'
/** It turns the direction of all that follows it in the line. */
const rightToLeft = 'zone-\u202Ecba'
const emoji = '🦀👩‍👩‍👧‍👦'
const long = `${'n'.repeat(62)}.${'n'.repeat(62)}.${'n'.repeat(62)}.${'n'.repeat(64)}`

describe.skipIf(whyNoChromium !== undefined)(`names that mean harm${unlessChromium}`, () => {
  let browser: Browser
  let folder: TemporaryFolder
  let daemon: ConsoleDaemon

  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    const { port, endpoint } = await freePorts('port', 'endpoint')
    const hostile = service('web', port, {
      clusterIP: '10.96.0.10',
      type: 'LoadBalancer',
      loadBalancerSourceRanges: [script, image],
    })
    const annotations = { 'example.com/a': script, 'example.com/b': image, 'example.com/c': `${rightToLeft} ${emoji}` }
    const zones = [script, image, rightToLeft, emoji]
    const endpoints = zones.map((zone, index) => ({
      addresses: [`127.0.0.${index + 1}`],
      nodeName: index === 0 ? long : 'node2',
      zone,
    }))
    await folder.write(
      'web.yaml',
      manifest(
        { ...hostile, metadata: { ...hostile.metadata, annotations } },
        { ...slice('web', endpoint), endpoints },
        service('a'.repeat(63), endpoint, { clusterIP: '10.96.0.11' }),
      ),
    )
    ;[browser, daemon] = await Promise.all([launchChromium(), ConsoleDaemon.start(`--objects=${folder.path}`)])
  })

  afterAll(async () => {
    await browser?.close()
    await daemon?.[Symbol.asyncDispose]()
    await folder?.[Symbol.asyncDispose]()
  })

  test('the page of a Service shows them as they were written', async () => {
    await using watched = await WatchedPage.open(browser, `${daemon.url}/services/default/web`)
    const { page } = watched
    await isAtRest(page)
    const cells = await page.getByRole('table').locator('td').allInnerTexts()
    expect(cells).toEqual(expect.arrayContaining([script, image, rightToLeft, emoji, long]))
    // In a cell of its own it turns nothing but itself.
    const isolated = page.locator('td', { hasText: rightToLeft }).first()
    expect(await isolated.evaluate((cell) => getComputedStyle(cell).unicodeBidi)).toMatch(/isolate|plaintext/)
  })

  test.each([1280, 360])('no page runs them or grows wider than the screen, %i pixels', async (width) => {
    const found: unknown[] = []
    for (const path of [
      '/',
      '/services',
      '/services/default/web',
      '/explain?target=service/web&from=outside',
      `/explain?target=${encodeURIComponent(script)}`,
      '/rules',
      '/syncs',
      `/services/default/${encodeURIComponent(image)}`,
      `/services?q=${encodeURIComponent(image)}`,
    ]) {
      const viewport = { width, height: 800 }
      await using watched = await WatchedPage.open(browser, daemon.url + path, { viewport })
      await isAtRest(watched.page)
      const seen = await watched.page.evaluate(() => ({
        isHacked: 'isHacked' in globalThis,
        images: document.querySelectorAll('img').length,
        scripts: [...document.scripts].filter(({ src }) => src === '').length,
        tooWide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
      }))
      found.push({ path, ...seen, forbidden: watched.problems.filter((text) => text.includes('the policy')) })
    }
    const harmless = { isHacked: false, images: 0, scripts: 0, tooWide: false, forbidden: [] }
    expect(found).toEqual(found.map((one) => ({ path: (one as { path: string }).path, ...harmless })))
  })
})
