import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const result = await validator.validate(JSON.parse(readFileSync("openapi.json", "utf8")));
if (!result.valid || validator.version !== "3.1") {
  console.error(validator.version, JSON.stringify(result.errors, null, 1));
  process.exit(1);
}
