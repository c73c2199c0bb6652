package truth

// firstNames and lastNames are joined at random where an address does not say
// a name.
var firstNames = []string{
	"Ada", "Bruno", "Carla", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Leo",
	"Mara", "Nils", "Oona", "Piet", "Quinn", "Rosa", "Sven", "Tara", "Udo", "Vera", "Wim", "Xenia", "Yara", "Zeno",
}

var lastNames = []string{
	"Ashgrove", "Birkdale", "Coldwell", "Dunmarsh", "Eastlake", "Fernholt", "Glenmore", "Hartfield", "Ironbridge",
	"Juniper", "Kestrel", "Longmead", "Millbrook", "Northwood", "Oakhurst", "Pinecrest", "Quillfeather", "Ravenhill",
	"Silverdale", "Thornbury", "Underhill", "Valebrook", "Westergaard", "Yewtree",
}

// posts are jobs with the contract's words for them.
var posts = []struct{ title, seniority, department string }{
	{"Chief Executive Officer", "c_suite", "other"},
	{"Chief Financial Officer", "c_suite", "finance"},
	{"Founder", "founder", "other"},
	{"Owner", "owner", "other"},
	{"Managing Partner", "partner", "legal"},
	{"VP of Engineering", "vp", "engineering"},
	{"VP of Sales", "vp", "sales"},
	{"Head of Design", "head", "design"},
	{"Head of Support", "head", "support"},
	{"Director of Marketing", "director", "marketing"},
	{"Director of Operations", "director", "operations"},
	{"Product Manager", "manager", "product"},
	{"IT Manager", "manager", "it"},
	{"HR Manager", "manager", "hr"},
	{"Account Manager", "manager", "sales"},
	{"Senior Software Engineer", "senior", "engineering"},
	{"Senior Data Analyst", "senior", "data"},
	{"Senior Lecturer", "senior", "education"},
	{"Junior Accountant", "entry", "finance"},
	{"Junior Nurse", "entry", "medical"},
	{"Marketing Intern", "intern", "marketing"},
}

// trades are what companies do.
var trades = []struct{ industry, offer string }{
	{"computer software", "software for planning and reporting"},
	{"information technology and services", "hosting and managed networks"},
	{"financial services", "payments and invoicing"},
	{"marketing and advertising", "campaigns and market research"},
	{"hospital & health care", "out-patient care"},
	{"logistics and supply chain", "freight and storage"},
	{"construction", "timber houses"},
	{"retail", "household goods"},
	{"higher education", "evening courses"},
	{"renewables & environment", "small wind turbines"},
	{"machinery", "packing machines"},
	{"food & beverages", "bread and preserves"},
	{"legal services", "contract law"},
	{"telecommunications", "voice and messaging"},
}

// technologies are sorted and in lower case, as the contract has them.
var technologies = []string{
	"apache kafka", "aws", "cloudflare", "django", "docker", "elasticsearch", "go", "google analytics", "graphql",
	"java", "kubernetes", "mongodb", "mysql", "nginx", "node.js", "postgresql", "python", "react", "redis",
	"ruby on rails", "rust", "shopify", "terraform", "typescript", "vue.js", "wordpress",
}

// employers hire the people who write from free mail.
var employers = []string{
	"copper-lantern.example", "grey-heron.example", "hill-and-harbour.example", "quiet-mill.example",
	"salt-marsh.example", "seven-pines.example", "tin-whistle.example", "winter-orchard.example",
}

// sharedMailboxes are local parts behind which no single person stands.
var sharedMailboxes = set("abuse", "accounts", "admin", "billing", "careers", "contact", "office", "hello", "help",
	"hr", "info", "jobs", "mail", "marketing", "news", "newsletter", "no-reply", "noreply", "postmaster", "press",
	"privacy", "root", "sales", "security", "service", "support", "team", "webmaster")

// freeMail are domains that say nothing about an employer.
var freeMail = set("aol.com", "freemail.example", "gmail.com", "gmx.de", "gmx.net", "googlemail.com", "hotmail.com",
	"icloud.com", "live.com", "mail.com", "me.com", "msn.com", "outlook.com", "proton.me", "protonmail.com", "web.de",
	"yahoo.com", "yandex.com", "zoho.com")

// disposable are domains that give away addresses for an hour.
var disposable = set("10minutemail.com", "disposable.example", "guerrillamail.com", "mailinator.com", "trashmail.com",
	"yopmail.com")

func set(words ...string) map[string]bool {
	members := make(map[string]bool, len(words))
	for _, word := range words {
		members[word] = true
	}
	return members
}
