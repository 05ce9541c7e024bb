import * as z from 'zod';
import { imageFamily, IMAGE_FAMILY_NAMES } from '#core/image-family';

const AMI = /^ami-(?:[0-9a-f]{8}|[0-9a-f]{17})$/u;
const PARAMETER = /^\/[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/u;
const MACHINE_TYPE = /^[a-z][a-z0-9-]*\.[a-z0-9-]+$/u;
/** Private IPv4 and a port. */
const HOST =
  /^(?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))(?:\.\d{1,3}){2,3}:\d{1,5}$/u;

const ImageSchema = z
  .strictObject({
    /** SSM parameter whose value is the id of the image; it is looked up at each deploy. */
    parameter: z.string().regex(PARAMETER, 'must be the name of an SSM parameter, as /aws/service/…').optional(),
    imageId: z.string().regex(AMI, 'must be the id of an image, as ami-0123456789abcdef0').optional(),
    os: z.enum(['linux', 'windows'], 'must be linux or windows'),
    /** `bare`: a public image, which a first-boot script makes a desktop of; `prepared`: one that has runner and desktop. */
    kind: z.enum(['bare', 'prepared'], 'must be bare or prepared'),
    rootDevice: z
      .string()
      .regex(/^\/dev\/[a-z0-9]{3,8}$/u, 'must be a device, as /dev/sda1')
      .default('/dev/sda1'),
    volumeGiB: z.int('must be whole GiB').min(8, 'must be 8 to 16384').max(16_384, 'must be 8 to 16384'),
    /** What records call it beside its id. */
    revision: z.string().min(1).max(60).nullable().default(null),
    /** How many machines of it may run at once, for licensed software. */
    seats: z
      .int('must be a number of machines')
      .min(1, 'must be at least 1, or null for any number')
      .nullable()
      .default(null),
    /** It holds the driver of a GPU; tasks that ask for one need it. */
    gpu: z.boolean('must be true or false').exactOptional(),
  })
  .refine(({ parameter, imageId }) => (parameter === undefined) !== (imageId === undefined), {
    error: 'must name its image by parameter or by imageId, and not by both',
  });
export type ImageSettings = z.infer<typeof ImageSchema>;

/** Public images of the first day, which first-boot scripts make desktops of. */
const PUBLIC_IMAGES: Readonly<Record<string, ImageSettings>> = {
  'ale-ubuntu22': {
    parameter: '/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id',
    os: 'linux',
    kind: 'bare',
    rootDevice: '/dev/sda1',
    volumeGiB: 50,
    revision: null,
    seats: null,
  },
  'ale-win-server': {
    parameter: '/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-Base',
    os: 'windows',
    kind: 'bare',
    rootDevice: '/dev/sda1',
    volumeGiB: 100,
    revision: null,
    seats: null,
  },
};

const FamilySchema = z
  .string()
  .refine((name) => imageFamily(name)?.name === name, `must be an image family: ${IMAGE_FAMILY_NAMES.join(', ')}`);

export const SandboxesSchema = z
  .strictObject({
    /** By image family; those that are not named are public images, where there is one. */
    images: z
      .record(FamilySchema, ImageSchema)
      .superRefine((images, context) => {
        for (const [name, { os }] of Object.entries(images)) {
          const wanted = imageFamily(name)?.os;
          if (wanted === undefined || wanted === os) continue;
          context.addIssue({
            code: 'custom',
            path: [name, 'os'],
            input: os,
            message: `must be ${wanted}, as the family`,
          });
        }
      })
      .transform((images): Readonly<Record<string, ImageSettings>> => ({ ...PUBLIC_IMAGES, ...images }))
      .prefault({}),
    /** EC2 types in the order of preference, by a card's GCE type or its number of vCPUs; what is absent is mapped by itself. */
    machineTypes: z
      .record(
        z.string().regex(/^[a-z0-9-]{1,40}$/u, 'must be a GCE machine type or a number of vCPUs'),
        z.array(z.string().regex(MACHINE_TYPE, 'must be an EC2 type, as m7i.xlarge')).min(1, 'must name a type').max(8),
      )
      .default({}),
    /** `address:port` of machines of the provider static that functions may reach. */
    staticHosts: z
      .array(
        z
          .string()
          .refine(
            (host) =>
              HOST.test(host) &&
              host.split(/[.:]/u).every((part, index) => Number(part) <= (index < 4 ? 255 : 65_535)) &&
              Number(host.split(':')[1]) > 0,
            'must be a private IPv4 address and a port from 1 to 65535, as 10.1.2.3:5000',
          ),
      )
      .max(20, 'must be at most 20 addresses')
      .default([]),
  })
  .prefault({});
export type SandboxesSettings = z.infer<typeof SandboxesSchema>;
